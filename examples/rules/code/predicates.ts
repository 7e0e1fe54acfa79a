// What a shell command or a piece of Python does, as far as its text tells. Text can always be written so that no pattern sees
// it: these predicates catch an agent that does harm by mistake or on somebody's word, and are no sandbox.
//
// Every repetition in a pattern but that of white space is bounded, so that no text can make one run for long. A text that is
// longer than the bound is not looked at in part: the predicate throws, which counts as a violation.

import type { HostPredicate } from '../../../src/agentspec/index.ts'

const TEXT_MAX = 20_000

/** One of the patterns is found. */
function found(about: string, ...patterns: readonly RegExp[]): HostPredicate & { readonly about: string } {
  const test: HostPredicate['test'] = (_, { payload }) => {
    const text = payload?.text
    if (typeof text !== 'string') throw new Error('the step has no text')
    if (text.length > TEXT_MAX) throw new Error(`the text has ${text.length} characters, at most ${TEXT_MAX}`)
    return patterns.some((pattern) => pattern.test(text))
  }
  return { parameters: [], test, about }
}

/** Shell and Python that write to a file whose path begins like this. */
function writing(path: string): RegExp[] {
  return [
    new RegExp(`>\\s{0,3}["']?(?:${path})`),
    new RegExp(`\\btee\\s+(?:-\\w{1,9}\\s+){0,3}["']?(?:${path})`),
    new RegExp(`\\b(?:sed|perl)\\s+-\\w{0,5}i\\b[^\\n;|]{0,200}\\s["']?(?:${path})`),
    // What is written to stands last.
    new RegExp(`\\b(?:cp|mv|install|ln)\\s[^\\n;|&]{0,200}\\s["']?(?:${path})[^\\s;|&]{0,100}\\s{0,3}(?:$|[\\n;|&])`),
    new RegExp(`\\bopen\\(\\s{0,3}["'](?:${path})[^"'\\n]{0,100}["']\\s{0,3},\\s{0,3}["'](?:[wax]|r\\+)`),
    new RegExp(`\\bPath\\(["'](?:${path})[^"'\\n]{0,100}["']\\)[\\s\\S]{0,200}\\.write_`),
  ]
}

/** Shell and Python that read a file whose path has this in it. */
function reading(path: string): RegExp[] {
  const programs = 'cat|less|more|head|tail|grep|strings|base64|xxd|od|cp|scp|rsync|tar|zip|awk|sed'
  return [
    new RegExp(`\\b(?:${programs})\\b[^\\n;|]{0,200}(?:${path})`),
    new RegExp(`\\b(?:open|Path|expanduser)\\(\\s{0,3}["'][^"'\\n]{0,100}(?:${path})`),
  ]
}

const DISK = '/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)'
const KEYS =
  '\\.ssh/id_|\\bid_(?:rsa|dsa|ecdsa|ed25519)\\b|\\.aws/credentials|\\.gnupg/|\\.netrc\\b|\\.pgpass\\b|\\.kube/config\\b|' +
  '\\.docker/config\\.json|/etc/shadow\\b'
const START_FILES =
  '[^\\s"\']{0,100}\\.(?:bashrc|bash_profile|profile|zshrc|zprofile|zshenv|xprofile|xinitrc|config/autostart)|' +
  '[^\\s"\']{0,100}\\.ssh/authorized_keys|/etc/(?:profile|bash\\.bashrc|rc\\.local)'
const SHELL = '(?:sudo\\s+(?:-\\w+\\s+)?)?(?:/bin/|/usr/bin/)?(?:(?:ba|da|z|k)?sh|python3?|perl|node)\\b'

export const predicates = {
  deletes_outside: found(
    'It deletes files outside of the folder that the agent works in.',
    /\brm\s+(?:-{1,2}[\w-]{1,20}\s+){1,6}["']?(?:\/(?!tmp\/)|~|\$HOME|\.\.)/,
    /\bfind\s+["']?(?:\/|~|\$HOME)[^\n;|]{0,200}(?:-delete\b|-exec\s+rm\b)/,
    /\bcd\s+\/(?:var|etc|usr|srv|opt|boot|lib|root|bin)\b[^\n]{0,200}\brm\s+-/,
    /\bPath\(["'](?:\/(?!tmp\b)|~)[\s\S]{0,200}\.(?:unlink|rmdir)\(/,
    /\brmtree\(\s{0,3}["'](?:\/(?!tmp\/)|~)/,
  ),
  overwrites_disk: found(
    'It writes to a disk as a whole.',
    new RegExp(`\\bof=${DISK}`),
    /\b(?:mkfs(?:\.\w{1,9})?|wipefs|blkdiscard|sgdisk|fdisk)\s+(?:-\w{1,9}\s+\S{0,20}\s{0,3}){0,5}\/dev\//,
    ...writing(DISK),
  ),
  writes_system_file: found(
    'It changes a file that users, rights or programs of the machine rest on.',
    ...writing(
      '/etc/(?:passwd|shadow|group|gshadow|sudoers|pam\\.d|security|ssh/|ld\\.so)|/boot/|/usr/(?:s?bin|lib)/|/s?bin/',
    ),
    /\bvisudo\b/,
  ),
  opens_permissions: found(
    'It lets everybody write a file, or lets a program run as its owner.',
    /\bchmod\s+(?:-\w{1,9}\s+){0,3}(?:[0-7]{0,2}[0-7]{2}[2367]|[2-7][0-7]{3}|[ugoa]{0,4}\+[rwx]{0,3}s|[go]{0,2}[oa][go]{0,2}\+[rx]{0,2}w[rx]{0,2})\b/,
    /\bchmod\([^\n]{0,200}0o?(?:[0-7]{2}[2367]|[2-7][0-7]{3})\b/,
    /\bS_IS[UG]ID\b|\bS_IWOTH\b/,
  ),
  changes_accounts: found(
    'It makes or changes accounts of the machine.',
    /\b(?:useradd|adduser|usermod|groupadd|gpasswd|chpasswd|userdel|newusers)\b/,
    /(?:^|[\n;&|(]|\bsudo\b)\s{0,9}passwd\s+(?:-\w{1,9}\s+)?[a-z]/,
    /\bnet\s+(?:user|localgroup)\s/,
  ),
  reads_keys: found(
    'It reads private keys or stored passwords.',
    ...reading(KEYS),
    /\bid_(?:rsa|dsa|ecdsa|ed25519)\b[\s\S]{0,60}\.read_/,
  ),
  names_secret: found(
    'It names a file that holds secrets.',
    new RegExp(KEYS),
    /\.(?:ssh|aws|gnupg|kube)\b|\.env(?![\w.])|\bsecrets?\.(?:ya?ml|json|toml)\b/,
  ),
  dumps_environment: found(
    'It takes all environment variables together.',
    /(?:^|[\n;&(])\s{0,9}(?:env|printenv|export\s+-p|set)\s{0,9}[|>]/,
    /\$\(\s{0,3}(?:env|printenv|set)\s{0,3}\)/,
    /\b(?:dict|str|list|dumps|repr)\(\s{0,3}(?:dict\()?os\.environ|os\.environ\.(?:copy|items)\(|(?:json|data)\s{0,3}=\s{0,3}os\.environ\b/,
  ),
  sends_out: found(
    'It sends something to another machine.',
    /\bcurl\b[^\n;|]{0,300}\s(?:-F|-d|-T|--data[\w-]{0,20}|--form|--json|--upload-file|-X\s{0,3}(?:POST|PUT))\b/,
    /\bwget\b[^\n;|]{0,300}--post-(?:data|file)\b/,
    /\|\s{0,9}(?:nc|ncat|netcat|ssh|curl|telnet)\b/,
    /\b(?:scp|rsync|sftp)\b[^\n;|]{0,200}\s[\w.@-]{1,100}:/,
    /\b(?:requests|httpx|session|client)\.(?:post|put)\(|\burlopen\([^\n]{0,200}\bdata\s{0,3}=|\.send(?:all|mail|to|_message)?\(/,
  ),
  reads_history: found(
    'It reads what a person typed.',
    ...reading('\\.(?:bash|zsh|sh|ksh|fish|mysql|psql|python|node_repl|rediscli)_history\\b'),
  ),
  connects_out: found(
    'It opens a connection to another machine.',
    /\/dev\/(?:tcp|udp)\//,
    /\.connect\(|\bcreate_connection\(/,
    /\b(?:nc|ncat|netcat|telnet)\s+(?:-\w{1,9}\s+){0,4}[\w.-]{1,100}\s+\d{1,5}\b/,
    /\bsocat\b[^\n;]{0,100}\b(?:TCP|OPENSSL|SSL)4?:/i,
  ),
  listens: found(
    'It waits for connections.',
    /\b(?:nc|ncat|netcat)\s+(?:-\w{1,9}\s+){0,3}-\w{0,9}l/,
    /\.listen\(|\.serve_forever\(/,
    /-LISTEN:/i,
  ),
  starts_shell: found(
    'It starts a shell that somebody can type into.',
    /\/bin\/(?:ba|da|z|k)?sh\b/,
    /\b(?:ba|da|z|k)?sh\s+-i\b/,
    /\bpty\.spawn\(|\bEXEC:/,
  ),
  runs_download: found(
    'It runs what it has just downloaded.',
    new RegExp(`\\b(?:curl|wget|fetch)\\b[^\\n;|]{0,300}\\|\\s{0,9}${SHELL}`),
    /\b(?:ba|da|z)?sh\s+(?:-c\s+)?["']?(?:<|\$)\(\s{0,3}(?:curl|wget)\b/,
    /\b(?:curl|wget)\b[^\n]{0,300}\bchmod\s+\S{0,9}[x157]/,
    /\b(?:exec|eval|system|run)\(\s{0,3}[^\n]{0,100}(?:urlopen|requests\.get|httpx\.get)\(/,
  ),
  installs_from_elsewhere: found(
    'It installs a package that does not come from the usual registry.',
    /\bpip3?["',\s]{1,6}install\b[^\n]{0,200}(?:--(?:extra-)?index-url|--trusted-host|--find-links|\s-i\s|git\+|http:\/\/)/,
    /\b(?:npm|pnpm|yarn)["',\s]{1,6}(?:install|i|add)\b[^\n]{0,200}(?:https?:\/\/|git\+|--registry)/,
    /\b(?:npm|pnpm|yarn|pip3?)\s[^\n;|]{0,200}--(?:registry|(?:extra-)?index-url)\b/,
    /\b(?:apt|apt-get|dnf|yum)\b[^\n]{0,200}(?:--allow-unauthenticated|--nogpgcheck|--force-yes)/,
  ),
  schedules: found(
    'It makes something run later, or whenever the machine starts.',
    /\bcrontab\s+(?!-l\b)\S|\|\s{0,9}crontab\b/,
    /\bsystemctl\s+(?:--\w{1,9}\s+){0,3}enable\b/,
    /\b(?:echo|cat)\b[^\n;]{0,200}\|\s{0,9}at\s/,
    ...writing('/etc/cron|/var/spool/cron|/etc/systemd/|/etc/init\\.d/|/lib/systemd/|~/\\.config/systemd/'),
  ),
  changes_login: found('It changes what runs, or who is let in, when somebody logs in.', ...writing(START_FILES)),
  lowers_defences: found(
    'It switches off a firewall, an audit or another defence.',
    /\bufw\s+(?:--force\s+)?(?:disable|reset)\b|\bsetenforce\s+0\b|\bnft\s+flush\b/,
    /\bip6?tables\s+(?:-F|--flush|-X|-P\s+\w{1,9}\s+ACCEPT)\b/,
    ...writing('/proc/sys/(?:kernel|net|vm)/'),
    /\b(?:systemctl|service)\b[^\n;]{0,60}\b(?:stop|disable|mask)\b[^\n;]{0,60}\b(?:auditd|firewalld|ufw|apparmor|fail2ban|clamav|rsyslog)/,
  ),
  erases_traces: found(
    'It deletes logs or what was typed.',
    /\bhistory\s+-\w{0,3}c\b|\bunset\s+HISTFILE\b|\bHISTFILE=|\bHISTSIZE=0\b|\bjournalctl\b[^\n;]{0,60}--vacuum/,
    /\b(?:rm|shred|truncate|unlink)\b[^\n;]{0,200}(?:\/var\/log|_history\b)/,
    />\s{0,3}\/var\/log\//,
    /\/var\/log\b[\s\S]{0,300}(?:os\.(?:remove|unlink)|\.unlink|\.truncate)\(/,
    /\b(?:remove|unlink|rmtree)\([^\n]{0,60}\/var\/log/,
  ),
  kills_system: found(
    'It kills all processes, or one that the machine needs.',
    /\bkill\s+(?:-\w{1,9}\s+){1,2}(?:--\s+)?-?1\b/,
    /\b(?:killall|pkill)\b[^\n;|]{0,100}\b(?:sshd|systemd|init|auditd|dbus|crond?|dockerd|kubelet|Xorg)\b/,
    /\bpkill\b[^\n;|]{0,60}\s-[uU]\s|\bprocess_iter\([\s\S]{0,200}\.(?:kill|terminate)\(/,
    /\bos\.kill(?:pg)?\(\s{0,3}-?[01]\s{0,3},/,
  ),
  exhausts: found(
    'It takes processes, memory or disk without end.',
    /(\w{1,20}|:)\s?\(\)\s{0,3}\{\s{0,3}\1\s{0,3}\|/,
    /\bwhile\s+(?:True|1)\s{0,3}:\s{1,40}(?:\w{1,20}\s{0,3}=\s{0,3})?(?:os\.fork\(|\w{1,20}\.append\(|\w{1,20}\s{0,3}\+=)/,
    /\bwhile\s+(?:true|:|\[?\s?1)[^\n]{0,20}\bdo\b[^\n]{0,200}(?:>>|&\s{0,3}done\b)/,
    /\byes\b[^\n;|]{0,60}>|\bfallocate\s+-l\s+\d{1,9}[TP]\b/,
  ),
  scans_network: found(
    'It looks for machines or open ports.',
    /\b(?:nmap|masscan|zmap|arp-scan|netdiscover|rustscan)\b/,
    /\bfor\b[^\n]{0,60}(?:\bseq\s|\{\d)[^\n]{0,100}\b(?:ping|nc|curl)\s/,
    /\bfor\s+\w{1,20}\s+in\s+range\([\s\S]{0,300}\.connect(?:_ex)?\(/,
    /\b(?:nc|ncat)\s+[^\n;|]{0,60}\b\d{1,5}-\d{1,5}\b/,
  ),
  redirects_names: found(
    'It changes to which address names lead.',
    ...writing('/etc/(?:hosts|resolv\\.conf|nsswitch\\.conf)|/etc/systemd/resolved'),
    /\bresolvectl\s+dns\b|\bnmcli\b[^\n;]{0,100}\bdns\b|\bsetdnsservers\b/,
  ),
  runs_hidden_code: found(
    'It runs code that its text does not show.',
    new RegExp(`\\b(?:base64|base32|xxd|uudecode|openssl|gunzip|zcat|rev|tr)\\b[^\\n;|]{0,100}\\|\\s{0,9}${SHELL}`),
    /\b(?:exec|eval|compile|loads)\(\s{0,3}[^\n]{0,100}(?:b64decode|b32decode|a85decode|fromhex|decompress|unhexlify|codecs\.decode)\(/,
    /\b(?:eval|(?:ba|da|z)?sh\s+-c)\s+["']?\$\([^\n)]{0,200}\b(?:base64|xxd)\b/,
  ),
  mines: found(
    'It mines a currency.',
    /\bstratum\d?\+(?:tcp|ssl|tls|udp):/,
    /\b(?:xmrig|minerd|cpuminer|cgminer|ethminer|nbminer|t-rex)\b/,
  ),
  leaves_container: found(
    'It gives a container the machine that it runs on.',
    /--privileged\b|\bprivileged\s{0,3}=\s{0,3}True\b/,
    /\s(?:-v|--volume)[\s=]{1,3}\/:|\bsource=\/,|\/docker\.sock\b|--(?:pid|network|ipc)[\s=]host\b/,
    /\bnsenter\b|\bchroot\s+\/(?:host|mnt|proc\/1)/,
  ),
  encrypts: found(
    'It encrypts files.',
    /\bopenssl\s+enc\b|\bgpg2?\b[^\n;|]{0,100}\s(?:-c|-e|--symmetric|--encrypt)\b|\bage\s+-\w{0,3}[per]\b|\b7z\s+a\b[^\n;|]{0,100}\s-p/,
    /\.encrypt(?:_and_digest|_?[fF]ile)?\(/,
  ),
  over_many_files: found(
    'It goes through a folder and all that is in it.',
    /\bfor\s+\w{1,20}\s+in\s+["'$(]{0,3}(?:~|\/|find\b|ls\b|\*)/,
    /\bfind\b[^\n;]{0,200}(?:-exec|-print0|\|\s{0,9}xargs)\b/,
    /\bos\.walk\(|\bos\.scandir\(|\brglob\(|\bglob\.i?glob\(/,
  ),
  replaces_originals: found(
    'It writes over or deletes the files that it read.',
    /\b(?:rm|shred|mv|unlink)\b/,
    /\.write(?:_bytes|_text)?\(|\bos\.(?:remove|unlink|replace|rename)\(/,
  ),
}
