// What a shell command or a piece of Python does, as far as its text tells. Text can always be written so that no pattern sees
// it: these predicates catch an agent that does harm by mistake or on somebody's word, and are no sandbox.
//
// Patterns are held against the whole; those with an alternative that begins with `^` against every single command as well,
// without what stands before it (sudo, xargs, `sh -c`). Both are without quotes, see commands.ts. Every repetition in a pattern but that of white space
// and words is bounded, so that no text can make one run for long. A text that is longer than the bound is not looked at in
// part: the predicate throws, which counts as a violation.

import type { HostPredicate } from '../../../src/agentspec/index.ts'
import { type Commands, readCommands } from './commands.ts'

const TEXT_MAX = 20_000

/** The rules of one event all ask about one text. */
let last: Commands | undefined

function commandsOf(text: unknown): Commands {
  if (typeof text !== 'string') throw new Error('the step has no text')
  if (text.length > TEXT_MAX) throw new Error(`the text has ${text.length} characters, at most ${TEXT_MAX}`)
  if (last?.raw !== text) last = readCommands(text)
  return last
}

type Told = HostPredicate & { readonly about: string }

const holds = (about: string, test: (commands: Commands) => boolean): Told => ({
  parameters: [],
  test: (_, { payload }) => test(commandsOf(payload?.text)),
  about,
})

const ofOneCommand = (pattern: RegExp): boolean => /(?:^|\|)\^/.test(pattern.source)
const matches = ({ whole, commands }: Commands, pattern: RegExp): boolean =>
  pattern.test(whole) || (ofOneCommand(pattern) && commands.some((command) => pattern.test(command)))

/** One of the patterns is found. */
const found = (about: string, ...patterns: readonly RegExp[]): Told =>
  holds(about, (commands) => patterns.some((pattern) => matches(commands, pattern)))

/** Shell, Python and others that write to, or take away, a file whose path begins like this. */
function writing(path: string): RegExp[] {
  return [
    new RegExp(`>\\s{0,3}(?:${path})`, 'i'),
    new RegExp(
      `^(?:tee|sponge|truncate|chown|chattr|chmod|rm|unlink|shred|mv|patch|ed|ex|touch)\\s(?:[^\\n]{0,200}\\s)?(?:${path})`,
    ),
    new RegExp(
      `^(?:sed|perl|ruby|g?awk)\\s(?:[^\\n]{0,100}\\s)?(?:-\\w{0,5}i\\S{0,9}|--in-place\\S{0,9})\\s[^\\n]{0,200}\\s(?:${path})`,
    ),
    // What is written to stands last.
    new RegExp(`^(?:cp|install|ln|rsync|scp|copy|xcopy|move)\\s[^\\n]{0,200}\\s(?:${path})\\S{0,100}\\s{0,3}$`),
    new RegExp(`^(?:cp|install|ln|mv)\\s(?:[^\\n]{0,200}\\s)?(?:-t\\s?|--target-directory=)(?:${path})`),
    new RegExp(`^dd\\s[^\\n]{0,200}\\bof=(?:${path})`),
    new RegExp(`^(?:curl|wget|aria2c)\\s[^\\n]{0,200}\\s(?:-\\w{0,5}[oO]\\s?|--output(?:-document)?[ =])(?:${path})`),
    new RegExp(`^(?:tar|unzip)\\s[^\\n]{0,200}\\s(?:-C|-d|--directory)[ =](?:${path})`),
    new RegExp(
      `^(?:Set-Content|Add-Content|Out-File|Copy-Item|Move-Item|Remove-Item|del|erase)\\s(?:[^\\n]{0,200}\\s)?(?:${path})`,
      'i',
    ),
    new RegExp(`\\bopen\\(\\s{0,3}(?:${path})[^\\s,)]{0,100}\\s{0,3}[,\\s]\\s{0,3}(?:mode\\s?=\\s?)?[rbt]{0,2}[wax+]`),
    new RegExp(`\\bopen\\(\\s{0,3}(?:${path})[^)\\n]{0,100}O_(?:WRONLY|RDWR|APPEND|CREAT)`),
    new RegExp(
      `\\bPath\\((?:${path})[^\\n)]{0,100}\\)[\\s\\S]{0,200}\\.(?:write_|touch|unlink|chmod|open\\(\\s?[wax])`,
    ),
    new RegExp(`(?<![\\w.])(?:${path})\\S{0,100}\\)?\\.(?:write_(?:text|bytes)|open\\(\\s?[wax])`),
    new RegExp(
      `\\b(?:copy\\w{0,4}|move|rename|replace|symlink|link)\\([^\\n]{1,200}[\\s,(](?:${path})[^\\s,)]{0,100}\\s{0,3}\\)`,
    ),
    new RegExp(
      `\\b(?:os\\.(?:remove|unlink|truncate|chmod|chown)|(?:write|append)File(?:Sync)?|createWriteStream|File\\.(?:write|open)|file_put_contents|rmSync|unlinkSync)\\(\\s{0,3}(?:${path})`,
    ),
  ]
}

const READERS =
  'cat|tac|nl|less|more|most|head|tail|[efz]?grep|rg|ag|strings|base64|base32|xxd|od|hexdump|cp|mv|scp|rsync|rclone|tar|zip|7z[ar]?|' +
  'gzip|bzip2|xz|g?awk|sed|cut|sort|uniq|tr|rev|dd|curl|wget|vim?|nano|emacs|view|bat|batcat|jq|yq|diff|paste|fold|column|openssl|' +
  'ssh2john|gpg2john|john|hashcat|unshadow|ln|install|xclip|pbcopy|mapfile|readarray|source|sqlite3|type|Get-Content|gc|copy|xcopy|Copy-Item|robocopy|find'

/** Shell, Python and others that read a file whose path has this in it. */
function reading(path: string): RegExp[] {
  return [
    new RegExp(`^(?:${READERS})\\b[^\\n]{0,300}(?:${path})`, 'i'),
    new RegExp(`<\\s{0,3}[^\\s<>]{0,100}(?:${path})`),
    new RegExp(
      `\\b(?:open|Path|expanduser|read_text|readFile(?:Sync)?|createReadStream|copy\\w{0,4}|copytree|File\\.read|IO\\.read|file_get_contents|read_history_file|i?glob|connect|FileInput|fileinput\\.input)\\(\\s{0,3}[^\\n)]{0,100}(?:${path})`,
    ),
    new RegExp(`(?:${path})[^\\n]{0,60}\\.(?:read_|open\\()`),
  ]
}

const DISK = '/dev/(?:r?disk\\d|[shv]d[a-z]|xvd|nvme|mmcblk|md\\d|mapper/|dm-|disk/)|//?\\./PhysicalDrive'
const KEYS =
  '\\.ssh/(?:id_(?!\\w{1,12}\\.pub)|\\*(?!\\.pub))|\\bid_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?\\b(?!\\.pub)|ssh_host_\\w{1,9}_key(?!\\.pub)|' +
  '\\.aws/(?:credentials|\\*)|\\.azure/|\\.config/gcloud|application_default_credentials|\\.gnupg\\b|\\.netrc\\b|\\.pgpass\\b|\\.my\\.cnf\\b|' +
  '\\.kube/config\\b|\\.docker/config\\.json|\\.git-credentials\\b|~/\\.(?:npmrc|pypirc)\\b|\\.config/gh/hosts|\\.vault-token\\b|' +
  '\\.password-store|\\.kdbx?\\b|\\.(?:p12|pfx|ppk|jks)\\b|/etc/g?shadow\\b|/etc/master\\.passwd|/etc/ssl/private|keytab\\b|' +
  'priv\\w{0,9}[-_.]?key\\w{0,9}\\.pem|\\bLogin Data\\b|\\b(?:logins\\.json|key[34]\\.db)\\b|Library/Keychains|/serviceaccount/token|wallet\\.dat|' +
  'System32/config/(?:SAM|SECURITY)'
const HISTORY =
  '\\.\\*?\\w{0,20}_?hist(?:ory|file)\\b|\\bfish_history\\b|ConsoleHost_history|\\$HISTFILE\\b|\\.(?:lesshst|viminfo)\\b|HistorySavePath|' +
  '\\bplaces\\.sqlite|(?:Chrome|Chromium|Safari|chromium)/[^\\n]{0,40}History\\b'
const START_FILES =
  '[^\\s"\'>]{0,100}\\.(?:bashrc|bash_login|bash_profile|bash_logout|bash_aliases|profile|zshrc|zprofile|zshenv|zlogin|zlogout|kshrc|t?cshrc|login|' +
  'xprofile|xinitrc|xsession(?:rc)?|pam_environment)(?![\\w.-])|[^\\s"\'>]{0,100}\\.config/(?:autostart|fish/|environment\\.d|plasma-workspace/env)|' +
  '[^\\s"\'>]{0,100}\\.ssh/(?:authorized_keys|rc|environment)|[^\\s"\'>]{0,100}(?:Microsoft\\.PowerShell_profile|\\$PROFILE|Programs/Startup)|' +
  '/etc/(?:profile|bash\\.bashrc|bashrc|zsh|environment\\b|skel|update-motd\\.d|xdg/autostart)'
const SYSTEM_FILES =
  '/etc/(?:passwd|group|g?shadow|sub[ug]id|sudoers|doas\\.conf|pam\\.|security|ssh/|ld\\.so|fstab|crypttab|login\\.defs|sysctl|modules|modprobe|default/|' +
  'polkit|shells|selinux|apparmor|inittab|grub|sysconfig|rc\\d?\\.d|init/|ssl/certs|ca-certificates|kernel|udev)|/boot\\b|/efi\\b|' +
  '/usr/(?:s?bin|lib|lib64|libexec)/|/s?bin/|/lib(?:64)?/(?!systemd/system)|/System/|/Library/(?!Launch)|[A-Za-z]:/Windows/(?!System32/drivers/etc)|/usr/share/(?:polkit|pam)'
const OUT =
  '(?:/(?!(?:var/)?tmp/(?!\\.\\.|\\*)|dev/(?:null|std))|~|\\.\\.(?:/|\\s|$)|[A-Za-z]:(?:/|\\s|$)|%\\w{1,20}%|\\$env:)'
const PREFIX =
  '(?:sudo\\s+(?:-\\w+\\s+){0,3}|env\\s+|exec\\s+|xargs\\s+(?:-\\S{1,9}\\s+){0,4}|nohup\\s+)?(?:/usr)?(?:/bin/)?(?:env\\s+)?'
const SHELL = `${PREFIX}(?:(?:ba|da|z|k|a|fi)?sh|python[\\d.]{0,4}|perl|node|ruby|php|iex|Invoke-Expression|source)\\b`
// A shell runs what it is piped; an interpreter does where it is given nothing else to run.
const PIPED = `${PREFIX}(?:(?:(?:ba|da|z|k|a|fi)?sh|iex|Invoke-Expression|source)\\b|(?:python[\\d.]{0,4}|perl|node|ruby|php)(?=(?:\\s-u)?\\s{0,3}(?:-\\s{0,3})?(?:[\\n;|&)<>]|- |$)|\\s-[ce]\\s[^\\n]{0,100}(?:exec|eval)\\b))`
const FETCH =
  '(?:curl|wget|fetch|aria2c|axel|lwp-download|lynx|iwr|irm|Invoke-WebRequest|Invoke-RestMethod|https?(?=\\s)|certutil|bitsadmin)'
const LOCAL = '(?![^\\n]{0,300}//(?:localhost|127\\.0\\.0\\.1)(?![^\\n]{0,300}//))'
const OFFICIAL =
  '(?!(?:pypi\\.org|files\\.pythonhosted\\.org|registry\\.npmjs\\.org|registry\\.yarnpkg\\.com|download\\.pytorch\\.org|rubygems\\.org|proxy\\.golang\\.org)(?:[/\\s,|)]|$))'
const PIP =
  '(?:(?:(?:python[\\d.]{0,4}|sys\\.executable,?) -m )?pip[\\d.]{0,4}|pipx|uv(?: pip)?|poetry|pdm|conda|mamba|easy_install)'
const NPM = '(?:npm|pnpm|yarn|bun|npx|bunx)'
const DEFENCES =
  '(?:auditd?|firewalld|ufw|iptables|nftables|apparmor|selinux|fail2ban|clam\\w{1,20}|r?syslog(?:-ng)?|systemd-journald|falcon-sensor|osqueryd?|wazuh\\S{0,20}|ossec\\S{0,9}|' +
  'sshguard|snort|suricata|crowdsec|aide|mdatp|falco|sysmon|unattended-upgrades|WinDefend|MpsSvc|wscsvc|sense|EventLog|usbguard|rkhunter|tripwire|samhain)\\b'
const VITAL =
  '(?:sshd?|systemd[\\w-]{0,20}|init|launchd|dbus(?:-daemon)?|crond?|dockerd?|containerd|kubelet|Xorg|Xwayland|gdm\\d?|lightdm|sddm|gnome-shell|NetworkManager|networking|wpa_supplicant|' +
  'getty|agetty|login|loginwindow|WindowServer|udevd|polkitd|lsass|csrss|winlogon|wininit|svchost|services|explorer|smss)(?:\\.exe|\\.service)?(?=\\s|$)'
const MINERS =
  '(?:xmrig\\S{0,20}|xmr-stak\\S{0,9}|minerd|cpuminer\\S{0,12}|cgminer|bfgminer|ethminer|nbminer|lolminer|t-rex|trex|phoenixminer|gminer|teamredminer|nanominer|wildrig\\S{0,9}|' +
  'srbminer\\S{0,9}|ccminer|claymore|xmrminer|minergate\\S{0,9}|nheqminer|rhminer|kawpowminer|bminer)'
const DECODER =
  '(?:base64|base32|basenc|xxd|uudecode|openssl|gunzip|zcat|bzcat|xzcat|gzip|bunzip2|xz|zstd|rev|tr|gpg|printf|od|hex2bin)'
const DECODES =
  /\b(?:b64decode|urlsafe_b64decode|standard_b64decode|b32decode|b16decode|a85decode|b85decode|decodebytes|decodestring|fromhex|unhexlify|decompress|codecs\.decode|atob|decode64|base64_decode|decode_base64|gzinflate|str_rot13|FromBase64String)\b|\bmap\(\s?chr\b|\bchr\(\s?\w{1,9}\s?(?:\^\s?\w{1,9}\s?)?\)?\s?for\b|\[::-1\]|Buffer\.from\([^\n]{0,20000}\b(?:base64|hex)\b|\bunpack\(|fromCharCode/

export const predicates = {
  deletes_outside: found(
    'It deletes files outside of the folder that the agent works in.',
    new RegExp(`^(?:rm|rmdir|unlink|shred|srm|wipe|trash|rimraf|gio trash|npx rimraf)\\s(?:[^\\n>]{0,200}\\s)?${OUT}`),
    /^rm\s[^\n]{0,60}--no-preserve-root/,
    new RegExp(
      `^find\\s(?:-\\w\\s){0,3}(?:\\S{1,99}\\s)?${OUT}[^\\n]{0,200}\\s(?:-delete\\b|-(?:exec|ok)(?:dir)?\\s(?:sudo\\s)?\\S{0,12}(?:rm|shred|unlink)\\b)`,
    ),
    new RegExp(
      `\\b(?:find|ls|fd|locate)\\s(?:-\\w{1,9}\\s){0,4}${OUT}[^\\n;]{0,200}\\|[^\\n;]{0,60}\\b(?:rm|shred|unlink)\\b`,
    ),
    /\b(?:cd|pushd|chdir\()\s?(?:\/(?:var|etc|usr|srv|opt|boot|lib|root|bin|home|mnt|media|data)\b\S{0,100}|\/|~\/?|~\/(?:Documents|Desktop|Pictures|Downloads|Library|\.\w{1,20})\S{0,60})\)?\s{0,3}(?:&&|;|\n|\|\|)[^\n]{0,200}(?:\b(?:rm|shred|unlink)\s|\bfind\b[^\n]{0,60}-delete|\bgit clean\b|rmtree\()/,
    new RegExp(`^rsync\\s[^\\n]{0,100}--(?:delete|remove-source)\\S{0,9}\\s[^\\n]{0,200}\\s${OUT}`),
    new RegExp(`^git\\s-C\\s?${OUT}\\S{0,60}\\sclean\\b`),
    new RegExp(`^mv\\s(?:-\\w{1,5}\\s)?${OUT}[^\\n]{0,100}\\s/dev/null`),
    /^(?:del|erase|rd|rmdir)\s(?:\/\w\s){1,4}[^\n]{0,60}(?:[A-Za-z]:|%\w|~|\.\.)/i,
    new RegExp(`^(?:Remove-Item|ri|Clear-Content)\\s(?:[^\\n]{0,100}\\s)?${OUT}`, 'i'),
    new RegExp(`\\bPath\\(${OUT}[\\s\\S]{0,300}\\.(?:unlink|rmdir|remove)\\(`),
    new RegExp(`(?:^|[\\s=(])${OUT}\\S{0,99}\\)?\\.(?:unlink|rmdir)\\(`, 'm'),
    new RegExp(
      `\\b(?:rmtree|rmdir|removedirs|os\\.remove|os\\.unlink|send2trash|rmSync|rmdirSync|unlinkSync|rm_rf?|FileUtils\\.\\w{1,9}|unlink|rimraf)(?:\\(|\\s)\\s{0,3}(?:glob[\\s(]\\s?)?${OUT}`,
    ),
    new RegExp(
      `\\b(?:os\\.walk|scandir|listdir|glob|iglob)\\(\\s?${OUT}[\\s\\S]{0,400}\\b(?:os\\.(?:remove|unlink|rmdir)|rmtree|unlink)\\(`,
    ),
  ),
  overwrites_disk: found(
    'It writes to a disk as a whole.',
    ...writing(DISK),
    new RegExp(
      `^(?:mkfs(?:\\.\\w{1,9})?|mke2fs|mkswap|mkdosfs|newfs\\w{0,9}|blkdiscard|badblocks\\s[^\\n]{0,40}-\\w{0,5}w\\w{0,5}|pvcreate|vgcreate)\\s[^\\n]{0,100}(?:${DISK})`,
    ),
    /^wipefs\s(?:[^\n]{0,60}\s)?(?:-\w{0,5}[ao]|--all|--offset|--force)/,
    /^(?:sgdisk|gdisk)\s[^\n]{0,60}(?:-[zZodn]|--zap|--clear|--delete|--new)/,
    /^(?:sfdisk|fdisk|cfdisk)\s(?!-\w{0,3}[ldsV]|--(?:list|dump|version|help))[^\n]{0,60}\/dev\//,
    /^parted\s[^\n]{0,60}\/dev\/[^\n]{0,60}\b(?:rm|mklabel|mktable|mkpart|resizepart|mkfs)\b/,
    /^(?:hdparm|nvme|sg_format|scsi\w{1,9})\s[^\n]{0,60}(?:--security-erase|--trim-sector|\bformat\b|sanitize|write-zeroes|--format)/,
    /^(?:hdparm|nvme)\s?[^\n]{0,20}\b(?:format|sanitize)\b/,
    /^diskutil\s(?:quiet\s)?(?:erase|zero|random|secureErase|partition|apfs delete|reformat)/i,
    /^format\s(?:\/\w\S{0,12}\s){0,4}[A-Za-z]:|^(?:Clear-Disk|Format-Volume|Initialize-Disk|Remove-Partition)\b|\bdiskpart\b[\s\S]{0,200}\bclean\b|\bclean\b[\s\S]{0,200}\bdiskpart\b|^diskpart\s\/s/i,
    /^(?:vgremove|lvremove|pvremove|zpool\s(?:destroy|create|labelclear)|mdadm\s[^\n]{0,60}--zero-superblock)\b/,
    /^cryptsetup\s[^\n]{0,60}(?:luksFormat|erase|luksErase)/,
  ),
  writes_system_file: found(
    'It changes a file that users, rights or programs of the machine rest on.',
    ...writing(SYSTEM_FILES),
    /^(?:visudo|vipw|vigr)\b(?!\s-\w{0,3}c)|^(?:update-grub|grub-install|bcdedit)\b|^reg\s(?:add|delete)\s(?:HKLM|HKEY_LOCAL_MACHINE)|^(?:Set|New)-ItemProperty\s[^\n]{0,60}HKLM/i,
    /^(?:vim?|nano|emacs|gedit)\s(?:-\S{1,40}\s){0,4}\/etc\/(?:passwd|shadow|sudoers|group|ssh\/|pam|fstab)/,
  ),
  opens_permissions: found(
    'It lets everybody write a file, or lets a program run as its owner.',
    /^chmod\s(?:-{1,2}[\w-]{1,20}\s){0,4}(?:0?[0-7]{2}[2367]|[0-7][0-7]{2}[2367]|[2-7][0-7]{3})(?=\s|$)/,
    /^chmod\s(?:-{1,2}[\w-]{1,20}\s){0,4}(?:\S{1,40},)?(?:[ugoa]{0,4}[+=][rwxXt]{0,3}s[rwxt]{0,3}|[ugoa]{0,4}[oa][ugoa]{0,4}[+=][rxXst]{0,3}w[rxXst]{0,3})(?=[\s,]|$)/,
    /\bl?chmod(?:Sync)?\([^\n]{0,200}\b(?:0o?)?(?:[0-7]{2}[2367]|[2-7][0-7]{3})\b\s{0,3}\)|\bl?chmod\([^\n]{0,200}\b(?:511|438)\b/,
    /\bS_IS[UG]ID\b|\bS_IWOTH\b|\bS_IRWXO\b/,
    /^(?:install|mkdir|cp)\s(?:[^\n]{0,100}\s)?(?:-\w{0,5}m\s?|--mode[= ])(?:0?[0-7]{2}[2367]|[0-7]{3}[2367]|[2-7][0-7]{3}|\S{0,9}[oa]\S{0,3}[+=]\w{0,3}w|\S{0,9}\+s)(?=\s|$)/,
    /^umask\s(?:-S\s)?(?:0{1,4}|[0-7]{0,2}[0-7]0|u=rwx,g=rwx,o=rwx|a=rwx)(?=\s|$)(?<!27\s?|77\s?)|\bumask\(\s?(?:0o?)?0{0,3}\s?\)/,
    /^setfacl\s[^\n]{0,60}(?:\b(?:other|o):{1,2}\s?\w?w|\b(?:other|o):{1,2}r?w|u:(?:nobody|www-data|everyone):\S?w)/,
    /^setcap\s[^\n]{0,60}(?:cap_(?:setuid|setgid|sys_admin|dac_\w{1,20}|sys_ptrace|chown|fowner)|all)\S{0,60}[+=]/i,
    /^i?cacls\s[^\n]{0,200}\b(?:Everyone|S-1-1-0|Users|Authenticated Users):\S{0,12}[FMW]|\bAccessRule\([^\n]{0,30}Everyone/i,
  ),
  changes_accounts: found(
    'It makes or changes accounts of the machine.',
    /^(?:useradd|adduser|usermod|userdel|deluser|groupadd|addgroup|groupmod|groupdel|delgroup|gpasswd|chpasswd|chgpasswd|newusers|chsh|chage|smbpasswd|sysadminctl|luseradd|homectl)(?:\s(?!-{1,2}(?:help|l|list|version|V)\b)|$)/,
    /^passwd(?!\s(?:-S|--status|--help))(?:\s|$)/,
    /^(?:net1?)\s(?:user|localgroup|group)\s[^\n]{0,100}(?:\s\/(?:add|delete|active|domain|del)|\s\S)/i,
    /^(?:New|Set|Remove|Enable|Disable|Add)-(?:LocalUser|LocalGroup|LocalGroupMember|ADUser|ADGroupMember|ADAccount\w{0,12})\b/i,
    /^dscl\s[^\n]{0,60}-(?:create|append|delete|passwd|merge|change)|^dseditgroup\s[^\n]{0,40}(?:edit|create|delete)|^pw\s(?:user|group)(?:add|mod|del)|^samba-tool\suser\s(?:create|add|delete|setpassword)/,
    /^(?:vipw|vigr)\b|^ldap(?:add|modify|delete)\b|^realm\spermit\b|^wmic\suseraccount\b[^\n]{0,60}\b(?:set|create|rename)\b/i,
  ),
  reads_keys: found(
    'It reads private keys or stored passwords.',
    ...reading(KEYS),
    /\b(?:cat|tar|zip|cp|scp|rsync|7z|grep|base64)\s[^\n;|]{0,200}\.ssh\/?(?=\s|$|\))/,
    /\bid_(?:rsa|dsa|ecdsa|ed25519)\b(?!\.pub)[\s\S]{0,60}\.read/,
    /^ssh-keygen\s(?:[^\n]{0,60}\s)?-\w{0,3}y|^gpg2?\s[^\n]{0,60}--export-secret|^(?:secret-tool|pass|gopass)\s(?:lookup|search|show|ls)\b|^security\s(?:find-\w{1,20}-password|dump-keychain|export)|^getent\sg?shadow|^cmdkey\s\/list|^vaultcmd\b|^reg\ssave\shklm/i,
    /\b(?:mimikatz|lazagne|secretsdump|sekurlsa|unshadow|mimipenguin|pypykatz)\b/i,
    /169\.254\.169\.254\S{0,60}(?:credentials|token)|metadata\.google\.internal\S{0,60}token/,
    /\.(?:ssh|aws|gnupg)\b[\s\S]{0,120}\b(?:read_text|read_bytes|open|copytree|iterdir|r?glob)\(|\b(?:iterdir|r?glob|listdir|walk)\([^\n)]{0,40}\.(?:ssh|gnupg|aws)\b[\s\S]{0,200}\b(?:read|open)|\bspwd\.getsp/,
    /^kubectl\s[^\n]{0,60}\bget\s\S{0,20}secrets?\b[^\n]{0,60}\s-o/,
    // What keeps them for other programs, asked for them.
    /^(?:aws\s(?:configure\sget|secretsmanager\sget-secret-value|ssm\sget-parameters?\b[^\n]{0,100}--with-decryption)|gcloud\s(?:auth\s(?:application-default\s)?print-\w{1,10}-token|secrets\sversions\saccess)|az\s(?:account\sget-access-token|keyvault\ssecret\sshow)|gh\sauth\stoken|op\s(?:read|item\sget)|vault\s(?:kv\sget|read)|bw\sget|lpass\sshow|keyring\sget|docker\ssecret\sinspect|git\scredential\sfill)\b/,
    /^netsh\swlan\sshow\sprofile\b[^\n]{0,60}key=clear|\bkeyring\.get_password\(|\bkrb5cc_\d/i,
    /\/proc\/(?:\d{1,7}|self|\*|\$\$)\/environ\b|BEGIN\s(?:RSA |EC |DSA |OPENSSH )?PRIVATE KEY/,
    /^find\s[^\n]{0,200}(?:\.pem|\.key|\.p12|\.pfx|\.kdbx|id_(?:rsa|ed25519))\b[^\n]{0,100}-exec\s(?:cat|cp|tar|scp|base64|head|tail|strings)\b/,
    /^(?:grep|egrep|rg|awk)\s[^\n]{0,60}(?:passw|token|secret|api.?key)[^\n]{0,60}_history\b|\bhistory\s?\|\s?(?:grep|egrep|rg)\s[^\n]{0,20}(?:passw|token|secret|api.?key)/i,
  ),
  names_secret: found(
    'It names a file that holds secrets.',
    new RegExp(KEYS),
    /\.(?:ssh|aws|gnupg|kube|azure)\b|\.env(?:rc)?(?!\.(?:example|sample|template|dist))(?:\.(?:local|prod\w{0,9}|dev\w{0,9}|staging|test))?(?![\w.])(?<!process\.env)(?<!import\.meta\.env)|\b(?:secrets?|credentials?|passwords?|tokens?|service[-_]?account\w{0,20}|api[-_]?keys?)\.(?:ya?ml|json|toml|txt|ini|env|csv|conf|db)\b/i,
    /\b[\w-]{1,30}\.(?:pem|key|p12|pfx|kdbx|keystore)(?=[\s;|&),:]|$)|\/etc\/passwd\b|\bcookies\.sqlite\b|\/run\/secrets\b|\bterraform\.tfstate\b|\bwp-config\.php\b|\b(?:database|local_settings|master)\.(?:yml|key)\b|\bhtpasswd\b/,
  ),
  dumps_environment: found(
    'It takes all environment variables together.',
    /^(?:env|printenv|set|export|export -p|declare -\w{1,4}|typeset -\w{1,3}|compgen -[ev]|env -0|env --null|printenv -0)(?:\s{0,3}[>|].{0,100})?$/,
    /\/proc\/(?:self|\$\$|\d{1,7}|\$\w{1,20}|\*)?\/?environ\b/,
    /\b(?:os\.)?environb?\b(?!\s{0,3}(?:\[|\.(?:get|setdefault|pop|update|keys)\b))(?<!(?:import|env\s?=|env\s?=\s?(?:dict\(|\{\*\*))\s?(?:os\.)?environb?)/,
    /\bprocess\.env\b(?!\.|\[)|\bENV\.(?:to_h|each|map|inspect|to_a)\b|%ENV\b|\bgetenv\(\)|\$_ENV\b|\b(?:gci|dir|ls|Get-ChildItem|Get-Item)\s(?:-\w{1,9}\s)?env:|\[(?:System\.)?Environment\]::GetEnvironmentVariables/i,
  ),
  sends_out: found(
    'It sends something to another machine.',
    new RegExp(
      `^curl\\b${LOCAL}[^\\n]{0,400}\\s(?:-[a-zA-Z]{0,6}[FdT](?=[\\s@=\\w$.~/]|$)|--data[\\w-]{0,20}|--form\\b|--form-string|--json\\b|--upload-file|--url-query|(?:-X\\s{0,3}|--request[ =])(?:POST|PUT|PATCH))`,
    ),
    new RegExp(`^wget\\b${LOCAL}[^\\n]{0,300}--(?:post-(?:data|file)|body-(?:data|file)|method[ =](?:POST|PUT))\\b`),
    /\b(?:curl|wget|dig|nslookup|host|ping|drill|lynx)\s[^\n;|]{0,200}(?:\$\(|`)\s{0,3}(?:sudo )?(?:cat|base64|xxd|env|printenv|head|grep|tr|od|gzip|tar|awk|sed|set|export|<|echo)\b/,
    /\|\s{0,9}(?:sudo )?(?:nc|ncat|netcat|ssh|curl|wget|telnet|socat|mail|mailx|mutt|sendmail|msmtp|swaks|openssl s_client|http|xh|rclone rcat|aws s3 cp|gsutil cp|gh gist|pastebinit|tftp|ftp|lftp|nslookup|xargs [^\n]{0,60}(?:curl|wget|dig|nslookup|ping))\b/,
    /^(?:nc|ncat|netcat|telnet|socat|openssl s_client)\b[^\n]{0,100}<|>\s{0,3}\/dev\/(?:tcp|udp)\/|^socat\s[^\n]{0,100}(?:FILE|OPEN|EXEC|SYSTEM)?:[^\n]{0,60}(?:TCP|UDP|OPENSSL)\d?:/i,
    /^(?:scp|rsync|sftp)\b[^\n]{0,200}\s[\w.@-]{1,100}:|^rsync\s[^\n]{0,200}\srsync:\/\//,
    /^(?:aws s3 (?:cp|mv|sync)|gsutil (?:-m )?(?:cp|rsync)|gcloud storage cp|az storage \w{1,9} upload|s3cmd (?:put|sync)|mc (?:cp|mirror)|rclone (?:copy|copyto|sync|move))\s[^\n]{0,200}(?:\s(?:s3|gs):\/\/|\s\w{1,30}:|--account|--container)/,
    /^(?:git push|gh gist create|gh release upload|pastebinit|croc send|wormhole send|magic-wormhole|ffsend upload|transfer|sendmail|mail|mailx|mutt|swaks|lftp|ftp|ncftpput|tftp|curlftpfs|smbclient|bitsadmin \/transfer \S{1,20} \/upload|kubectl cp|docker cp|docker push|netlify deploy|ipfs add|tgsend|http|https|xh)\s(?!-h)/,
    /\b(?:requests|httpx|aiohttp|session|client|axios|sess|s|http|Net::HTTP|urllib3?|pool)\.(?:post|put|patch|post_form)\(|\.request\(\s{0,3}(?:method\s?=\s?)?(?:POST|PUT|PATCH)\b|\burlopen\([\s\S]{0,200}\bdata\s{0,3}=|\bRequest\([\s\S]{0,200}\bdata\s{0,3}=|\burlopen\([^\n,)]{1,200},\s?[^\n)]|\.send(?:all|mail|to|_message|file)?\(/,
    /\b(?:requests|httpx|session|client|urllib\.request|http|axios)\.(?:get|head|urlopen|urlretrieve)\([^\n]{0,200}(?:\{|\+|%|params\s?=|headers\s?=|data\s?=|\.format\()|\burlopen\([^\n]{0,200}(?:\{|\+|\.format\(|%)/,
    /\bstor(?:binary|lines)\(|\.(?:upload_file|upload_fileobj|put_object|upload_from_\w{1,20}|upload_blob|files_upload|send_document|send_file|create_gist|publish)\(|\bsftp\.put\(|\bscp\.put\(|\bgethostbyname\([^\n]{0,100}(?:\{|\+|%)|\bfetch\([\s\S]{0,200}\bmethod\s?:\s?(?:POST|PUT)|\bhttps?\.request\([\s\S]{0,200}(?:POST|PUT)/i,
    /\b(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm)\b[^\n;|]{0,300}(?:-Method\s(?:Post|Put)|-Body|-InFile)|\bUpload(?:String|File|Data)\(|\bSend-MailMessage\b/i,
  ),
  reads_history: found(
    'It reads what a person typed.',
    ...reading(HISTORY),
    /^history(?!\s-\w)(?:\s|$)|^fc\s-\w{0,3}l|^(?:Get-History|h|doskey \/history|atuin (?:search|history))(?:\s|$)/i,
    /\bget_history_item\(|\bread_history_file\(/,
    new RegExp(`(?:${HISTORY})[\\s\\S]{0,200}\\b(?:open|read\\w{0,9}|copy\\w{0,4})\\(`),
  ),
  connects_out: found(
    'It opens a connection to another machine.',
    /\/dev\/(?:tcp|udp)\/|\/inet\d?\/tcp\//,
    /\.connect(?:_ex)?\(|\b(?:create|open)_connection\(|\bIO::Socket|\bsocket\(\w{1,9},\s?PF_INET|\bTCPSocket\b|\bfsockopen\(|\bstream_socket_client\(|\bnet\.(?:connect|Socket|createConnection|Dial)\b|\bTCPClient\b|\bsocket\.tcp\(|\bTcpStream::connect|\bnew Socket\(/i,
    /^(?:nc|ncat|netcat|telnet|nc\.\w{1,12})\s(?!(?:[^\n]{0,60}\s)?-\w{0,5}z)(?:-{1,2}\S{1,30}\s(?:\S{1,60}\s)?){0,6}[\w.:-]{1,100}\s\d{1,5}\b/,
    /^(?:nc|ncat|netcat)\s[\w.:-]{1,100}\s\d{1,5}\s-\w?e/,
    /^socat\b[^\n]{0,200}\b(?:TCP|OPENSSL|SSL|UDP|SCTP|PROXY)\d?(?:-CONNECT)?:(?!\d{1,5}(?:,|\s|$))/i,
    /\bopenssl s_client\b|^(?:chisel client|ngrok tcp|bore local|cloudflared)\b|\bcurl\s[^\n;|]{0,60}telnet:|^(?:ssh|autossh)\s(?:[^\n]{0,200}\s)?-\w{0,6}R\b/,
  ),
  listens: found(
    'It waits for connections.',
    /^(?:nc|ncat|netcat|nc\.\w{1,12})\s(?:[^\n]{0,100}\s)?(?:-\w{0,9}l|--listen)/,
    /\.listen\(|\.serve_forever\(|\bListen\s{0,3}=>|\bTCPServer\b|\bsocket_bind\(|\bnet\.createServer\(|\bTcpListener\b|\bstart_server\(|\bcreate_server\(|\.bind\(\s?\(|\bserver_bind\(|\bHTTPServer\(|\bapp\.run\(|\bstream_socket_server\(|\bnet\.Listen\(/i,
    /-LISTEN:|\b(?:tcp|udp|openssl)\d?-l\w{0,6}:/i,
    /^(?:ttyd|gotty|shellinaboxd?|tmate|in\.telnetd|telnetd|dropbear|wetty|x?inetd|tcpserver|ucspi)\b|^sshd\s[^\n]{0,40}-p/,
  ),
  starts_shell: found(
    'It starts a shell that somebody can type into.',
    /(?<!#!)\/bin\/(?:env )?(?:ba|da|z|k|tc|c|fi|a)?sh\b/,
    /\b(?:ba|da|z|k|tc|a)?sh\s+-\w{0,3}i\b|^(?:exec )?(?:ba|da|z|k|a)?sh(?:\s-[il])?(?:\s[\d<>&].{0,60})?$|\|\s{0,3}(?:ba|da|z|k|a)?sh\b(?=\s?(?:[\d<>|;&]|-i|$))/m,
    /\bpty\.(?:spawn|fork)\(|\b(?:EXEC|SYSTEM):/,
    /\s(?:-\w{0,9}[ec]|--(?:sh-)?exec)\s?(?:\/\S{0,20}\/)?(?:(?:ba|da|z|k|a)?sh|cmd|powershell|pwsh|python[\d.]{0,4})(?:\.exe)?\b/i,
    /\b(?:call|run|Popen|system|spawn\w{0,5}|exec\w{0,5}|check_output|popen|create_subprocess_\w{1,5})\(\s{0,3}\[?\s{0,3}(?:\/\S{0,20}\/)?(?:(?:ba|da|z|k)?sh|cmd|powershell|pwsh)(?:\.exe)?(?=[\s,)\]])/i,
    // What comes in over the connection is run.
    /\b(?:recv|readline|accept|makefile|rfile|read|ReadLine|request)\b[\s\S]{0,400}\b(?:os\.(?:system|popen)|subprocess\.\w{1,20}|exec|eval|check_output|Popen|iex|child_process)\b/,
    /\b(?:os\.(?:system|popen)|subprocess\.\w{1,20}|check_output|Popen|exec|eval|iex|getoutput)\(?\s?\(?[^\n]{0,60}(?:\brecv\b|request\.|self\.rfile|\.accept\(|\$data\b|self\.path|self\.headers)/,
    /\bcmd\.exe\b|\bpowershell\.exe\b|\biex\s/i,
    /^(?:ttyd|gotty|shellinaboxd?|tmate|in\.telnetd|telnetd|dropbear|wetty)\b|^sshd\s[^\n]{0,40}-p|^(?:ssh|autossh)\s(?:[^\n]{0,200}\s)?-\w{0,6}R\s?\S{0,40}:22\b|^ngrok tcp 22\b/,
  ),
  runs_download: holds(
    'It runs what it has just downloaded.',
    (commands) =>
      runsFetched(commands) ||
      [
        new RegExp(`\\b${FETCH}\\b[^\\n;]{0,400}\\|\\s{0,9}${PIPED}`, 'i'),
        new RegExp(
          `(?:^|[\\s(;&|])(?:${SHELL}|\\.|eval)\\s(?:[^\\n;|]{0,40}\\s)?(?:-c\\s)?<{0,3}\\s?[<$]?[(\`]\\s{0,3}(?:sudo )?${FETCH}\\b`,
          'im',
        ),
        new RegExp(`^[\`$]?\\(?${FETCH}\\s[^\\n]{0,300}&&\\s{0,3}(?:sh|bash)\\b`),
        /\b(?:exec|eval|system|run|compile|Popen|check_call|call|iex|Function|Invoke-Expression)\b[\s(]{1,4}[^\n]{0,120}(?:\burlopen\(|requests\.get\(|httpx\.get\(|urllib2?\.|DownloadString|file_get_contents\(\s?http|URI\.open|open\(\s?http|\biwr\b|\birm\b|Invoke-WebRequest|Invoke-RestMethod|\bcurl\b[^\n]{0,200}\|)/i,
        /\b(?:urlopen|requests\.get|httpx\.get|urlretrieve|session\.get|wget\.download|fetch)\([\s\S]{0,800}(?<![.\w])(?:exec|eval|execfile|Function)\(/,
        /\b(?:urlretrieve|urlopen|requests\.get|httpx\.get|wget\.download)\([\s\S]{0,800}\b(?:os\.(?:system|popen|startfile|exec\w{1,3}|spawn\w{1,3})|runpy\.\w{1,9}|import_module|spec_from_file_location|chmod)\(/,
        /\b(?:urlretrieve|urlopen|requests\.get|httpx\.get|wget\.download)\([\s\S]{0,800}\bsubprocess\.\w{1,20}\(\s?\[?\s?(?:sudo |bash |sh |python[\d.]{0,4} |\.\/|\/tmp\/|node |perl |f\b|path|name|dest|target)/,
        /\bDownload(?:File|String|Data)\([\s\S]{0,400}\b(?:Start-Process|iex|Invoke-Expression|&)\b|\|\s?(?:iex|Invoke-Expression)\b|^mshta\shttps?:|^regsvr32\s[^\n]{0,60}\/i:http|^rundll32\s[^\n]{0,60}http|^msiexec\s[^\n]{0,60}https?:/i,
        /^(?:deno run|npx|bunx|bun|node|go run|python[\d.]{0,4})\s(?:-{1,2}\S{1,30}\s){0,5}https?:\/\//,
        /\bgit clone\s[^\n]{0,200}(?:&&|;|\n)[^\n]{0,100}(?:\b(?:ba|z|da)?sh\s|\.\/|\bsource\s)\S{0,60}(?:install|setup|bootstrap|run)\S{0,20}/,
        /\bscp\s[^\n;&|]{0,100}\w:\S{1,100}\s\S{1,100}\s{0,3}(?:&&|;)\s{0,3}(?:(?:ba)?sh|\.\/|chmod)/,
      ].some((pattern) => matches(commands, pattern)),
  ),
  installs_from_elsewhere: found(
    'It installs a package that does not come from the usual registry.',
    new RegExp(
      `^${PIP}\\s(?=[^\\n]{0,100}\\b(?:install|add|download|sync|wheel|run)\\b)[^\\n]{0,200}(?:\\s(?:--(?:extra-)?index-url|--index|--default-index|-i|--find-links|-f)[ =]?\\s?(?:https?://${OFFICIAL}|file:|/|\\w{1,30}\\.\\w)|--trusted-host|(?:git|hg|svn|bzr)\\+|(?:\\s|@\\s?)https?://${OFFICIAL}|ssh://)`,
    ),
    new RegExp(
      `^easy_install\\s[^\\n]{0,100}https?://|^pip\\S{0,4}\\sconfig\\s[^\\n]{0,60}(?:index-url|trusted-host|find-links)|\\b(?:PIP|UV)_(?:EXTRA_)?(?:INDEX_URL|TRUSTED_HOST|FIND_LINKS|INDEX|DEFAULT_INDEX)\\W{0,9}=?\\s?(?:https?://${OFFICIAL}|\\w)`,
    ),
    new RegExp(
      `^${NPM}\\s(?=[^\\n]{0,200}\\b(?:install|i|add|ci|exec|dlx|create|x)\\b|https?:|-)[^\\n]{0,200}(?:\\shttps?://${OFFICIAL}|git\\+|git://|\\s(?:github|gitlab|bitbucket|gist):|@https?:|@github:|\\s[a-z\\d][\\w-]{1,30}/[\\w.-]{1,40}(?:#\\S{1,30})?(?=\\s|$)|--registry[ =]\\s?(?:https?://${OFFICIAL}|(?!https?:)\\w))`,
    ),
    new RegExp(
      `^${NPM}\\sconfig\\s[^\\n]{0,60}registry[ =]\\s?(?:https?://${OFFICIAL}|(?!https?:)\\w)|\\bnpm_config_registry\\W{0,6}https?://${OFFICIAL}|\\bregistry\\s?=\\s?https?://${OFFICIAL}[^\\n]{0,100}\\.npmrc`,
      'i',
    ),
    /^gem\s(?:install|sources)\s[^\n]{0,100}(?:--source|-s|--add|-a|--clear-sources)[ =]?\s?https?:|^bundle\sconfig\s[^\n]{0,60}mirror|^cargo\sinstall\s[^\n]{0,100}(?:--git|--registry|--index)|\bGO(?:PROXY|INSECURE|NOSUMDB|NOSUMCHECK|FLAGS|SUMDB)\W{0,3}=\s?(?!(?:off\b(?!\s)|https:\/\/proxy\.golang))\S/,
    /^(?:apt|apt-get|aptitude|dnf|yum|zypper|rpm|apk|pacman|microdnf)\s[^\n]{0,200}(?:--allow-unauthenticated|--nogpgcheck|--no-gpg-checks?|--force-yes|--allow-untrusted|--nosignature|--nodigest|AllowInsecure|https?:\/\/|--repofrompath|--add-repo|--allow-insecure\S{0,20})/,
    /^(?:add-apt-repository|apt-add-repository|apt-key\sadd|apt-key\sadv|yum-config-manager|dnf\scopr|zypper\s(?:ar|addrepo)|rpm\s-\w{1,4}\shttps?:)\b|\btrusted=yes\b|\b(?:curl|wget)\b[^\n]{0,300}(?:\.deb|\.rpm|\.apk|\.pkg|\.msi|\.whl|\.gem|\.vsix)\b[\s\S]{0,200}\b(?:dpkg|rpm|apt|apt-get|dnf|yum|apk|installer|msiexec|pip3?|gem|code)\s[^\n]{0,60}(?:-i|-U|install|add|-pkg|--install)/,
    /^brew\s(?:tap\s\S{1,60}\shttps?:|install\s[^\n]{0,60}https?:|tap\s[a-z\d])|^(?:choco|nuget|Install-Package|Install-Module|Register-PSRepository)\s[^\n]{0,100}(?:-s(?:ource)?[ =]|-Source(?:Location)?\s)\S|^snap\sinstall\s[^\n]{0,60}--dangerous|^flatpak\s(?:install|remote-add)\s[^\n]{0,100}(?:https?:\/\/(?!(?:dl\.)?flathub)|--no-gpg-verify)|^(?:conda|mamba)\s(?:install|create)\s[^\n]{0,100}(?:-c|--channel)[ =]https?:|^luarocks\s[^\n]{0,60}--server|^composer\sconfig\s[^\n]{0,30}repositor|^code\s--install-extension\s\S{1,60}\.vsix|^helm\sinstall\s[^\n]{0,100}https?:/i,
    /\bpip\.?(?:_internal)?\.?main\(\[?[^\n]{0,100}(?:git\+|https?:|index-url)/,
    // A file that nobody's registry vouches for, unless it is what was just built here.
    /^(?:dpkg\s(?:[^\n]{0,40}\s)?(?:-i|--install)|rpm\s-\w{0,5}[iU]\w{0,5}|(?:apt|apt-get|dnf|yum|zypper)\s(?:[^\n]{0,60}\s)?install)\s(?:[^\n]{0,60}\s)?(?!(?:\.\/)?(?:dist|build|target|out)\/)\S{1,100}\.(?:deb|rpm)(?=\s|$)/,
    /^(?:(?:python\S{0,4}\s-m\s)?pip\S{0,4}|uv\spip|pipx|npm|yarn|pnpm|gem)\s(?:install|i|add)\s(?:[^\n]{0,60}\s)?(?!(?:\.\/)?(?:dist|build|target|out|pkg)\/)\S{1,100}\.(?:whl|tgz|tar\.gz|gem)(?=\s|$)/,
    /^(?:snap|flatpak)\sinstall\s(?:[^\n]{0,60}\s)?\S{1,100}\.(?:snap|flatpak)(?=\s|$)|^code\s--install-extension\s\S{1,100}\.vsix|^installer\s[^\n]{0,60}-pkg\s|^msiexec\s[^\n]{0,40}\/i\s?\S{0,10}https?:/i,
    /^brew\sinstall\s(?!homebrew\/)[\w-]{1,40}\/[\w-]{1,40}\/[\w-]{1,40}|^(?:npx|bunx)\s(?:[^\n]{0,30}\s)?(?:github|gitlab|bitbucket|gist):|^helm\srepo\sadd\s|^nix-env\s[^\n]{0,60}-f\shttps?:|^cpanm?\s[^\n]{0,60}https?:|\binstall\.packages\([^\n]{0,100}repos\s?=\s?\W?http:/,
    /^(?:conda|mamba)\s(?:install|create)\s(?:[^\n]{0,100}\s)?(?:-c|--channel)[ =](?!(?:defaults|conda-forge|bioconda|anaconda|pytorch|nvidia)\b)\w/,
  ),
  schedules: found(
    'It makes something run later, or whenever the machine starts.',
    /^crontab(?!\s(?:-u\s\S{1,30}\s)?-[lV]\b)(?:\s|$)|\|\s{0,9}(?:sudo )?crontab\b|\bCronTab\(/,
    /^systemctl\s(?:--\S{1,20}\s){0,3}(?:enable|reenable|link|preset|add-wants)\b|^systemd-run\s[^\n]{0,60}--(?:on-|timer-property)|^loginctl\senable-linger/,
    /\|\s{0,9}(?:sudo )?(?:at|batch)\b(?=\s|$)|^at\s(?:-\w\s?\S{0,60}\s){0,3}(?:now|noon|midnight|teatime|tomorrow|next|\d|-f|-t|\+)|^batch(?:\s|$)/m,
    ...writing(
      '[^\\s"\']{0,60}/etc/(?:cron|anacrontab|systemd/(?!resolved)|init\\.d|rc\\.local|rc\\.d|init/)|/var/spool/(?:cron|at)|/(?:usr/)?lib/systemd/|[^\\s"\']{0,60}\\.config/systemd/|[^\\s"\']{0,60}Library/Launch(?:Agents|Daemons)|[^\\s"\']{0,60}/Library/StartupItems',
    ),
    /^launchctl\s(?:load|bootstrap|enable|submit|start)\b|^(?:update-rc\.d|chkconfig|rc-update|insserv)\s(?!--list|show|-s)|^pm2\s(?:startup|save)\b/,
    /^schtasks\s[^\n]{0,20}\/(?:create|change|run)\b|^(?:Register-ScheduledTask|New-ScheduledTask\w{0,12}|Register-ScheduledJob|New-Service)\b|^sc\s(?:create|config)\b|^reg\sadd\s[^\n]{0,100}CurrentVersion\/?\\?Run|CurrentVersion.{0,2}Run\b/i,
    /\bosascript\b[^\n]{0,100}login item|(?:^|[\s(])@(?:reboot|hourly|daily|weekly)\s\S/i,
  ),
  changes_login: found(
    'It changes what runs, or who is let in, when somebody logs in.',
    ...writing(START_FILES),
    /^ssh-copy-id\b|\bLoginHook\b|^chsh\s[^\n]{0,40}-s|^cat\s[^\n]{0,100}>\s?\S{0,60}authorized_keys/,
    /\.(?:bashrc|bash_profile|profile|zshrc|zprofile|authorized_keys)\b[\s\S]{0,200}(?:\.write(?:_text)?\(|,\s?a\b|\sa\))/,
  ),
  lowers_defences: found(
    'It switches off a firewall, an audit or another defence.',
    /^ufw\s(?:--force\s)?(?:disable|reset|default\sallow|allow\sfrom\s(?:any|0\.0\.0\.0))|^setenforce\s(?:0|permissive)|^nft\s(?:flush|delete\s(?:table|chain|ruleset)|destroy)/i,
    /\bSELINUX=(?:disabled|permissive)|>\s?(?:\/sys\/fs)?\/selinux\/enforce|\b(?:selinux|apparmor|audit|mitigations)=(?:0|off)\b/i,
    /^(?:ip6?tables|ebtables|arptables)(?:-legacy|-nft)?\s(?:-w\s)?(?:-t\s\w{1,9}\s)?(?:-F|--flush|-X|--delete-chain|(?:-P|--policy)\s\w{1,9}\sACCEPT|(?:-[IA]|--insert|--append)\s(?:INPUT|FORWARD)\s(?:\d\s)?-j\sACCEPT)(?=\s|$)/,
    ...writing(
      '/proc/sys/(?:kernel|net|vm|fs)/|/sys/kernel/security|/etc/(?:audit|fail2ban|apparmor|selinux|ufw|iptables|nftables|firewalld|clamav)',
    ),
    /^sysctl\s[^\n]{0,60}\b(?:kernel\.(?:randomize_va_space|kptr_restrict|dmesg_restrict|yama\.\S{1,30}|perf_event_paranoid|unprivileged_\S{1,20}|kexec\S{0,20}|modules_disabled)|net\.ipv[46]\.\S{0,40}(?:syncookies|rp_filter|accept_\w{1,20}|log_martians)|fs\.(?:protected_\w{1,20}|suid_dumpable))\s?=/,
    new RegExp(
      `^(?:systemctl|service|rc-service|svcadm|launchctl|initctl)\\s(?=[^\\n]{0,200}\\b(?:stop|disable|mask|kill|unload|bootout|remove)\\b)[^\\n]{0,200}\\b${DEFENCES}`,
      'i',
    ),
    new RegExp(
      `^(?:killall|pkill|taskkill|apt(?:-get)? (?:-y )?(?:remove|purge)|(?:dnf|yum) (?:-y )?(?:remove|erase)|stop|update-rc\\.d|chkconfig|net stop|sc (?:stop|delete|config)|Stop-Service|Set-Service)\\s[^\\n]{0,100}\\b${DEFENCES}`,
      'i',
    ),
    new RegExp(`^${DEFENCES} stop|\\bkill\\s[^\\n;]{0,40}(?:pidof|pgrep)\\s[^\\n]{0,20}\\b${DEFENCES}`),
    /^(?:aa-(?:disable|teardown|complain|remove-unknown))\b|^apparmor_parser\s-R|^auditctl\s(?:[^\n]{0,40}\s)?-(?:e\s?0|D)|^augenrules\b[^\n]{0,30}-D|^fail2ban-client\s(?:stop|unban\s--all)|^firewall-cmd\s[^\n]{0,100}(?:--set-default-zone=trusted|--panic-off|--remove-|--zone=trusted)/,
    /^spctl\s[^\n]{0,20}--(?:master|global)-disable|^csrutil\s(?:disable|authenticated-root disable)|^pfctl\s[^\n]{0,20}-\w{0,3}[dF]|^socketfilterfw\s[^\n]{0,60}\boff\b|^fdesetup\sdisable|^xattr\s[^\n]{0,20}-\w{0,3}d\w{0,3}\s\S{0,6}com\.apple\.quarantine|^tccutil\sreset/,
    /\bSet-MpPreference\b|\bAdd-MpPreference\b[^\n]{0,60}Exclusion|^netsh\s(?:advfirewall|firewall)\s[^\n]{0,60}\b(?:off|disable)\b|^Set-NetFirewallProfile\b[^\n]{0,60}False|\bDisable(?:AntiSpyware|RealtimeMonitoring|AntiVirus)\b|\bEnableLUA\b[^\n]{0,30}\b0\b|^Set-ExecutionPolicy\s[^\n]{0,40}(?:Unrestricted|Bypass)|^auditpol\s[^\n]{0,60}(?:disable|\/clear)|AmsiUtils|amsiInitFailed|^bcdedit\s[^\n]{0,60}(?:nointegritychecks|testsigning)/i,
    /\bNODE_TLS_REJECT_UNAUTHORIZED\W{0,6}0\b|\bPYTHONHTTPSVERIFY\W{0,6}0\b|\bhttp\.sslVerify[ =]false\b|\bGIT_SSL_NO_VERIFY\b|\bstrict-ssl[ =]false\b|_create_default_https_context\s?=\s?\S{0,9}_create_unverified|\bgpgcheck\s?=\s?0/,
  ),
  erases_traces: found(
    'It deletes logs or what was typed.',
    /^history\s(?:-\w\s){0,2}-\w{0,3}[cd]|^unset\s(?:-v\s)?(?:\w{1,12}\s){0,3}HIST|\bHISTFILE(?:SIZE)?=(?:\s|$|\/dev\/null|0|;|$)|\bHIST(?:FILE)?SIZE=0\b|\bHISTFILE=|^set\s\+o\shistory|^shopt\s-\w{1,2}o?\s?history|\bHISTIGNORE=\S{0,3}\*|^fc\s-p|\bSAVEHIST=0\b|^export\s-n\sHISTFILE/m,
    /^journalctl\b[^\n]{0,60}--vacuum|^dmesg\s[^\n]{0,20}(?:-\w{0,3}[cC]\b|--clear|--read-clear)|^log\serase\b|^wevtutil\s(?:cl|clear-log)\b|^(?:Clear|Remove|Limit)-EventLog\b|^Clear-History\b|\bHistorySavePath\b|^(?:lastlog|faillock|faillog)\s[^\n]{0,30}(?:-C|--clear|--reset|-r)|^logrotate\s[^\n]{0,20}-\w{0,3}f/i,
    /^(?:rm|shred|truncate|unlink|srm|wipe|mv|rmdir|tee(?!\s-a)|sponge|dd)\b[^\n]{0,200}(?:\/var\/(?:log|adm)\b|_history\b|\.histfile\b|\/(?:utmp|wtmp|btmp|lastlog)\b|\/Library\/Logs|\/var\/lib\/docker\/containers|\/var\/account|winevt\/Logs|\/run\/log\/journal)/i,
    /^cp\s(?:-\w{1,5}\s)?\/dev\/(?:null|zero)\s[^\n]{0,100}(?:log|history)|^ln\s[^\n]{0,60}\/dev\/null\s[^\n]{0,60}(?:history|log)/,
    /^(?:sed|perl)\s(?:[^\n]{0,60}\s)?(?:-\w{0,5}i\S{0,9}|--in-place\S{0,9})\s[^\n]{0,200}(?:\/var\/log\/|_history\b)/,
    /^find\s[^\n]{0,60}(?:\/var\/log|_history)[^\n]{0,200}(?:-delete\b|-exec(?:dir)?\s\S{0,12}(?:rm|truncate|shred|cp|sh))|\b(?:find|ls|for)\s[^\n;|]{0,60}\/var\/log[^\n]{0,100}(?:\b(?:rm|truncate|shred)\b|(?<!>)>\s?\$)/,
    /(?<!>)>\s{0,3}(?:\/var\/(?:log|adm)\/|\S{0,60}\.\w{1,20}_history\b|\S{0,20}\/[wbu]tmp\b|\$HISTFILE)/,
    /\bcd\s\/var\/log\b[^\n]{0,200}\b(?:rm|truncate|shred|find)\b/,
    /(?:\/var\/log|_history|winevt)\b[\s\S]{0,300}(?:os\.(?:remove|unlink|truncate)|\.unlink|\.truncate|rmtree|\.write_(?:text|bytes)|open\([^\n]{0,60}[, ]\s?(?:mode\s?=\s?)?w\b)\(?/,
    /\b(?:remove|unlink|rmtree|truncate|unlinkSync|rmSync|writeFileSync|truncateSync)\([^\n]{0,60}(?:\/var\/log|_history)/,
    /\bopen\(\s?[^\n)]{0,40}(?:\/var\/log\/|_history\b|\/[wbu]tmp\b)[^\n)]{0,60}[\s,]\s?(?:mode\s?=\s?)?(?:w|r\+)/,
    /\breadline\.clear_history\(|\bwrite_history_file\(\s?\/dev\/null/,
  ),
  kills_system: found(
    'It kills all processes, or one that the machine needs.',
    /^kill\s(?:-s\s?\w{1,9}\s|-{1,2}\w{0,9}\s){1,3}-?1(?=\s|$)|^kill\s1(?=\s|$)|^killall5\b/,
    new RegExp(`^(?:killall|pkill|taskkill|Stop-Process|skill|kill)\\s(?:[^\\n]{0,100}[\\s^])?${VITAL}`, 'i'),
    new RegExp(`\\bkill\\b[^\\n;]{0,40}\\b(?:pidof|pgrep)\\s(?:-\\w{1,3}\\s){0,3}${VITAL}`),
    new RegExp(`\\b(?:pidof|pgrep)\\s(?:-\\w{1,3}\\s){0,3}${VITAL}[^\\n]{0,40}\\bkill\\b`),
    /\bkill\b[^\n;]{0,40}(?:\bpgrep\s(?:-\w\s)?-[uU]|\bpgrep\s\.|\bps\s(?:-?[aA]\w{0,4}|-e\w{0,3})\b(?![^\n]{0,100}\b(?:grep|pgrep|-C)\b))/,
    /\bps\s-?\w{1,4}\b(?![^\n]{0,200}\bgrep\b(?! -v))[^\n]{0,200}\|[^\n]{0,60}\bkill\b|\bfor\s\w{1,12}\sin\s[^\n]{0,60}(?:\/proc|\bps\b(?![^\n]{0,60}grep))[^\n]{0,100}\bkill\b/,
    /^(?:pkill|killall|skill)\s(?:[^\n]{0,60}\s)?(?:-[uU]\s?\S|--(?:euid|uid|user)[ =]|-r\s\S{0,3}\.|\.\*?(?=\s|$)|-f\s\.|-v\s|-t\s|\^?\.\+)|^slay\s|^loginctl\s(?:kill-user|terminate-user)/,
    /\bprocess_iter\((?![\s\S]{0,200}\bif\b)[\s\S]{0,200}\.(?:kill|terminate|suspend)\(|\bpsutil\.pids\(\)(?![\s\S]{0,200}\bif\b)[\s\S]{0,200}(?:\.kill|\.terminate|os\.kill)\(|\/proc\b[\s\S]{0,200}\bos\.kill\(/,
    /\b(?:os\.kill(?:pg)?|process\.kill|posix_kill)\(\s{0,3}-?[01]\s{0,3}[,)]/,
    new RegExp(`\\bname\\b[\\s\\S]{0,60}\\b${VITAL}[\\s\\S]{0,100}\\.(?:kill|terminate)\\(`),
    /^(?:shutdown(?!\s(?:-c|\/a))|reboot|halt|poweroff|telinit|init\s[0156]|Stop-Computer|Restart-Computer)(?=\s|$)(?!\s--help)|^systemctl\s(?:-\S{1,9}\s){0,3}(?:poweroff|reboot|halt|kexec|rescue|emergency|isolate)|>\s?\/proc\/sysrq-trigger/i,
    /^(?:systemctl|service)\s(?=[^\n]{0,100}\b(?:stop|kill|mask|disable)\b)[^\n]{0,100}\b(?:sshd?|dbus|NetworkManager|networking|systemd-\w{1,12})(?:\.service|\.socket)?(?=\s|$)/,
  ),
  exhausts: found(
    'It takes processes, memory or disk without end.',
    /([\w.]{1,20}|:)\s?\(\)\s{0,9}\{\s{0,9}[^}]{0,60}?(?<![\w.])\1\s{0,3}[|&]|\bfunction\s(\w{1,20})\s?(?:\(\))?\s?\{\s{0,9}[^}]{0,60}?\b\2\s{0,3}[|&]/,
    /\$0\s?[|&]\s?\$0|%0\s?\|\s?%0|\bfork\s?(?:while|until|unless)\s?(?:fork|1|true)|\b(?:while|loop|until)\b[^\n]{0,20}[\s({]fork\b|\bfork\(?\)?\s?while\b|\bfork\s?while\b/,
    /\bwhile\s?\(?(?:True|1|not False)\)?\s{0,3}:(?![\s\S]{0,400}\b(?:break|return|sleep|wait|recv|accept|input|exit|raise|join)\b)[\s\S]{0,200}(?:fork\(|Popen\(|Thread\(|Process\(|\bstart\(|\.append\(|\.extend\(|\.write\(|\+=|\*=|\.add\(|mkdtemp|mkstemp|makedirs\(|mkdir\(|=\s?(\w{1,20})\s?[+*]\s?(?:\1|\d))/,
    /\bfor\s\w{1,12}\sin\s(?:(?:itertools\.)?(?:count|repeat|cycle)\(|iter\(int|range\(\s?10\s?\*\*\s?\d)[\s\S]{0,200}(?:fork\(|Popen\(|Thread\(|Process\(|\.append\(|\.write\()/,
    /\bwhile\s(?:true|:|\[{1,2} ?1 ?\]{0,2}|\(\( ?1 ?\)\)|1)\s?[;\n](?![^}]{0,300}\b(?:sleep|break|read|wait|exit)\b)\s?do\b[\s\S]{0,300}(?:>>?|&\s{0,3}done\b|&\s{0,3}$|\bdd\b|\bmk(?:temp|dir)\b|\bcp\b|=\$\w{1,12}\$\w)|\bfor\s?\(\(\s?;\s?;\s?\)\)(?![^}]{0,300}\b(?:sleep|break|read|wait)\b)[\s\S]{0,200}(?:>|&)/m,
    /\bwhile\s(?:true|:|\[ 1 \]|1)\s?[;\n]\s?do\b[^\n]{0,200}&\s?done\b/,
    /\buntil\sfalse\s?;(?![^\n]{0,200}\bsleep\b)/,
    /\bwhile\s?\(\s?(?:true|1)\s?\)(?![\s\S]{0,300}\b(?:break|return|await|sleep)\b)[\s\S]{0,100}(?:push\(|fork|spawn|exec|write|concat|\+=)/,
    /^yes\b[^\n]{0,60}>|\byes\b[^\n;]{0,60}[|>]\s?(?:dd|tee|tr|cat|\S{0,60}\.\w)|\b(?:cat|tail|head)\s(?:-\w\s?\d{0,3}\s)?\/dev\/(?:zero|u?random)\s{0,3}(?:>|\||$)|\/dev\/(?:zero|urandom)\s?>\s?(?!\/dev)/m,
    /^(?:fallocate|truncate|head|mkfile|dd|fsutil)\s[^\n]{0,100}(?:\d{1,9}[TPE]i?B?|\d{3,9}Gi?B?|\d{6,9}Mi?B?|\d{13,})(?=\s|$)/,
    /^dd\s(?=[^\n]{0,100}\bif=\/dev\/(?:zero|u?random|full))(?![^\n]{0,100}\bcount=)[^\n]{0,100}\bof=(?!\/dev\/(?:null|[shv]d|nvme|xvd|mmc|r?disk|md|mapper))/,
    /^(?:stress|stress-ng|memtester)\s|\bseq\s(?:1\s)?(?:inf|\d{8,})|\{\s?(?:0|1)\.\.\d{7,}/,
    /\bfor\s\w{1,12}\sin\s(?:\$\(seq\s[^\n)]{0,12}\d{5,}|\{\d\.\.\d{5,})[^\n]{0,200}&\s{0,3}done/,
    /\b(?:bytearray|bytes|zeros|ones|empty|full|alloc|range|repeat)\(\s?\(?\s?(?:\d{1,3}\s?\*\*?\s?){0,3}(?:10\s?\*\*\s?(?:1\d|[2-9]\d)|2\s?\*\*\s?(?:3[5-9]|[4-9]\d)|1e1\d|1\s?<<\s?(?:3[5-9]|[4-9]\d)|\d{11,})|\blist\((?:itertools\.)?(?:count|repeat|cycle)\(|(?:\b[A-Za-z0 x]|\])\s?\*\s?\(?(?:10\s?\*\*\s?(?:1\d|[2-9]\d)|\d{11,}|1024\s?\*\*\s?[4-9]|1\s?<<\s?(?:3[5-9]|[4-9]\d))/,
    /\bulimit\s[^\n]{0,20}-u\sunlimited|\bsetrecursionlimit\(\s?(?:10\s?\*\*\s?[7-9]|\d{8,})|\bdef\s(\w{1,20})\([^\n)]{0,40}\):\s{0,9}(?:\n\s{0,9})?(?:os\.fork\(\)|(?:threading\.)?Thread\([^\n]{0,60}\1|\w{0,30}\.?Process\([^\n]{0,60}\1)/,
  ),
  scans_network: found(
    'It looks for machines or open ports.',
    /^(?:nmap|zenmap|masscan|zmap|arp-scan|netdiscover|rustscan|unicornscan|nbtscan|enum4linux\S{0,4}|nikto|gobuster|dirb|dirbuster|ffuf|wfuzz|feroxbuster|naabu|fscan|hping3?|crackmapexec|cme|netexec|onesixtyone|snmpwalk|ike-scan|angry\w{1,9}|sx|smap|wpscan|nuclei|whatweb|shodan|ipscan\S{0,6})(?=\s|$)(?!\s--version)|^fping\s[^\n]{0,60}-\w{0,5}g/,
    /\bfor\b[^\n]{0,80}(?:\bseq\s|\{\d{1,5}\.\.\d|\d\s\d{2,5}\s\d{2,5})[\s\S]{0,160}(?:\b(?:ping6?|nc|ncat|curl|telnet|fping|arping|wget|host|dig|nslookup|timeout|ssh)\s|\/dev\/tcp\/)/,
    /\b(?:seq|\{\d)[^\n]{0,100}\|[^\n]{0,40}\b(?:xargs|parallel)\b[^\n]{0,60}(?:\b(?:ping|nc|curl|ncat|telnet)\b|\/dev\/tcp)|\b(?:xargs|parallel)\b[^\n]{0,60}\b(?:ping|nc)\b[^\n]{0,60}\b(?:\{1\.\.|\d{1,3}\.\d{1,3}\.\d{1,3}\.)/,
    /\bfor\s(\w{1,20})(?:,\s?\w{1,20})?\sin\s(?:range|trange)\([\s\S]{0,300}\b(?:connect(?:_ex)?|(?:create|open)_connection|sr1?|system|run|call|ping|get|popen|check_output|Popen)\([^\n]{0,160}\b\1\b/,
    /\b(?:connect_ex|\.connect|(?:create|open)_connection|sr1?)\([\s\S]{0,600}\brange\(\s?\d{1,5}\s?,\s?\d{3,}|\brange\(\s?\d{0,5}\s?,?\s?\d{3,6}[\s\S]{0,600}\b(?:connect(?:_ex)?|(?:create|open)_connection|sr1?)\(/,
    /\bip_network\([\s\S]{0,300}\b(?:connect(?:_ex)?|ping|system|run|call|open_connection|create_connection|popen|get)\(|\bPortScanner\(|\bscapy\b[\s\S]{0,400}\b(?:sr1?|srp1?|arping)\(|\barping\(|\bsrp1?\(/,
    /\bfor\s\w{1,20}\sin\s[\s\S]{0,200}\d{1,3}\.\d{1,3}\.\d{1,3}\.(?:\{|\s?\+|\$|%[ds]|%)|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\$(?:_|i|ip|h|host|n|\()|\bfor\s\w{1,9}\sin\s[^\n]{0,60}\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\{\d/,
    /^(?:nc|ncat|netcat)\s[^\n]{0,100}\b\d{1,5}-\d{1,5}\b|^for\s\/L\b[^\n]{0,200}/i,
    /\d\.\.\d{2,5}[^\n]{0,60}(?:%|ForEach\S{0,9})[^\n]{0,100}(?:Test-(?:Net)?Connection|TcpClient|ping)/i,
  ),
  redirects_names: found(
    'It changes to which address names lead.',
    ...writing(
      '/etc/(?:hosts\\b(?!\\.(?:allow|deny))|resolv(?:er|conf|\\.conf)|nsswitch\\.conf|host\\.conf|dnsmasq|NetworkManager|netplan|unbound|named|bind/|dhcp/|dhcpcd|network/interfaces|systemd/resolved|systemd/network|ethers)|/run/systemd/resolve|[A-Za-z]:/Windows/System32/drivers/etc|%\\w{1,20}%/System32/drivers/etc|[^\\s]{0,60}/drivers/etc/hosts',
    ),
    /^resolvectl\s(?:[^\n]{0,60}\s)?(?:dns|domain|llmnr|default-route)\s\S{1,20}\s\S|^systemd-resolve\s[^\n]{0,60}--set-(?:dns|domain)|^nmcli\b[^\n]{0,200}\bdns\S{0,9}\s|-set(?:dnsservers|webproxy|securewebproxy|autoproxyurl|searchdomains|socksfirewallproxy)\b|^netsh\sinterface\s[^\n]{0,100}\bdns|^(?:Set-DnsClientServerAddress|Add-DnsClientNrptRule|Set-DnsClient)\b|^resolvconf\s-[au]|^(?:scutil|hostctl|hostsed|hostess)\s(?!list|--dns|--get)/i,
    /^ip\s(?:-\w\s)?(?:route|r|ro|neigh\w{0,3})\s(?:add|replace|change|append|del|delete)\b|^route\s(?:-\w\s)?(?:add|change|delete|del|-p)\b|^arp\s[^\n]{0,20}-s\b|^(?:arpspoof|ettercap|bettercap|dnsspoof|dnschef|responder|mitm6)\b|^ip6?tables\s[^\n]{0,200}-j\s(?:REDIRECT|DNAT)|\bwmic\b[^\n]{0,60}SetDNS/i,
    /\b(?:patch|socket)\b[\s\S]{0,60}\bsocket\.getaddrinfo\s?=\s?\w|\burl\.\S{1,99}\.(?:insteadOf|pushInsteadOf)\b/i,
  ),
  runs_hidden_code: holds(
    'It runs code that its text does not show.',
    (commands) =>
      (/\$'(?:\\x[\da-fA-F]{2}|\\[0-7]{3}|\w){2,}/.test(commands.raw) && /\\x|\\[0-7]{3}/.test(commands.raw)) ||
      /(?:\\x[\da-fA-F]{2}){4}[\s\S]{0,400}\|\s{0,3}(?:ba|da|z)?sh\b|\b(?:eval|exec|system)\b[^\n]{0,60}(?:\\x[\da-fA-F]{2}){4}/.test(
        commands.raw,
      ) ||
      (DECODES.test(commands.whole) &&
        /(?<![.\w])(?:exec|eval|compile|__import__|Function)\s?\(|\b(?:marshal|pickle|dill|cloudpickle)\.loads\(|\bos\.(?:system|popen)\(|\bbuiltins\b|\b(?:run|Popen|call|check_output|check_call|getoutput|execSync|spawn)\([^\n]{0,120}(?:decode|fromhex|decompress|atob|chr|-1\])|\b(?:iex|Invoke-Expression|assert|instance_eval|class_eval)\b|\beval\b/i.test(
          commands.whole,
        )) ||
      [
        new RegExp(`\\b${DECODER}\\b[^\\n;]{0,300}\\|\\s{0,9}${PIPED}`),
        new RegExp(
          `(?:^|[\\s;&|(])(?:eval|source|\\.|exec|(?:ba|da|z|k)?sh|python[\\d.]{0,4}|perl|node|ruby)\\s(?:-\\w{1,9}\\s){0,3}(?:<{0,3}\\s?)?[$<]?[(\`]\\s?[^\\n]{0,300}\\b${DECODER}\\b`,
          'm',
        ),
        new RegExp(`^[\\s$(\`]{0,6}\\$\\(\\s?(?:echo|printf)\\b[^\\n]{0,300}\\|\\s?${DECODER}\\b`),
        new RegExp(`(?:^|[;&|\\n]\\s{0,3})(?:\\$\\(|\`)[^\\n)\`]{0,300}\\b${DECODER}\\s(?:-d|-D|--decode|-r)`),
        /\b(?:base64|base32|xxd|openssl|uudecode|certutil|gunzip|gzip)\b[^\n;]{0,200}(?:-d|-D|--decode|-r|-decode|-dc)\b[^\n;]{0,60}(?:>|\s-o\s?|-out\s)\s?(\S{1,60})[\s\S]{0,200}(?:\b(?:(?:ba|da|z)?sh|python[\d.]{0,4}|perl|node|source|chmod\s\S{1,9})\s\1|[\s;&]\.?\/?\1(?=[\s;&]|$))/,
        /\bpowershell(?:\.exe)?\b[^\n]{0,100}\s[-/]e(?:nc?|ncodedcommand|c)?\s\S{8}|^(?:powershell|pwsh)\s[^\n]{0,100}\s[-/]e(?:nc|ncodedcommand|c)?\s\S{8}/i,
        /\$\{?\w{1,12}:\d{1,2}:\d{1,2}\}?(?:\s?\$\{?\w{1,12}:\d{1,2}:\d{1,2}\}?){1,20}|\bgetattr\(\s?__builtins__|\b__builtins__\b[^\n]{0,60}\[|\bglobals\(\)\[[^\n]{0,30}\]\(|\b__import__\([^\n)]{0,60}(?:\[::-1\]|chr\(|decode)/,
        /\bperl\s[^\n]{0,40}(?:\bunpack\b|\bpack\b|decode_base64)/,
      ].some((pattern) => matches(commands, pattern)),
  ),
  mines: found(
    'It mines a currency.',
    /\bstratum\d?\+?(?:tcp|ssl|tls|udp)?:\/\//i,
    new RegExp(
      `^${MINERS}(?=\\s|$)|^(?:docker|podman|kubectl|nerdctl)\\s(?:run|pull|create)\\s[^\\n]{0,200}\\b${MINERS}\\b|/${MINERS}\\b(?=[^\\n]{0,200}(?:&&|;|\\n|\\s-))|\\bgit clone\\s\\S{0,99}/${MINERS}\\b`,
      'i',
    ),
    /\s-{1,2}(?:a|algo)[ =](?:randomx|rx\/\w{1,9}|cryptonight\S{0,12}|kawpow|ethash|etchash|equihash|scrypt|sha256d|autolykos\d?|progpow|octopus|kheavyhash|verushash|argon2\S{0,12}|yescrypt\S{0,9}|x11|x16r\S{0,3}|lyra2\S{0,6}|ghostrider)\b/i,
    /--(?:donate-level|coin[ =](?:monero|xmr|rvn|eth|etc|zec|btc|ltc|doge)|rig-id|randomx-\S{1,20}|nicehash|cpu-max-threads-hint)\b/i,
    /\s-{1,2}(?:o|url|pool|server|P)[ =]?\s?(?:[a-z+]{2,12}:\/\/)?[\w.-]{0,60}(?:pool|mine|mining|nicehash|xmr|monero|2miners|f2pool|hashvault)[\w.-]{0,60}:\d{2,5}\b/i,
    /\b(?:minexmr|supportxmr|moneroocean|hashvault|nanopool|nicehash|2miners|f2pool|ethermine|flypool|unmineable|coinhive|coinimp|crypto-loot|minergate|herominers|woolypooly|c3pool)\b[\w./:-]{0,60}(?::\d{2,5}|\.min\.js|\.js|\/)/i,
    /\bnonce\b[\s\S]{0,400}\bsha(?:256|3_256)\([\s\S]{0,300}\bstartswith\(\s?(?:0{2}|0\s?\*|target|prefix|difficulty)|\bmining\.(?:subscribe|submit|authorize)\b|\b(?:getblocktemplate|submitblock|getwork|generatetoaddress)\b|\bsetgenerate\strue/i,
    /\b4[0-9AB][1-9A-HJ-NP-Za-km-z]{93}\b/,
  ),
  leaves_container: found(
    'It gives a container the machine that it runs on.',
    /--privileged\b(?![=\s]false)|\bprivileged[\s:=]{1,4}true\b|\bhost(?:PID|Network|IPC|Path)\b[\s\S]{0,9}(?:true|:|\{)/i,
    /\s(?:-v|--volume)[\s=]{0,3}\/(?:etc|root|proc|sys|boot|dev|usr|var|var\/run|var\/lib|run|home|lib|bin|sbin|opt)?\/?:|\b(?:source|src)=\/(?:etc|root|proc|sys|boot|dev|var\/run|var\/lib|home)?\/?(?:,|\s|$)|\b(?:docker|containerd|crio|podman)\.sock\b|--(?:pid|network|net|ipc|uts|userns|cgroupns)[\s=]host\b/,
    /--cap-add[\s=](?:CAP_)?(?:ALL|SYS_ADMIN|SYS_PTRACE|SYS_MODULE|SYS_RAWIO|DAC_READ_SEARCH|DAC_OVERRIDE|SYS_BOOT|BPF)\b|--security-opt[\s=](?:seccomp|apparmor|label|systempaths)[=:](?:unconfined|disable)|--device[\s=]\/dev\/(?:[shv]d|nvme|mem|kmem|mapper|dm|xvd|disk|loop)|--device-cgroup-rule/i,
    /^nsenter\b|^chroot\s\/(?:host|mnt|proc\/1|rootfs|hostfs)|\bchroot\s\/(?:host\w{0,6}|mnt|proc\/1|rootfs)|\/proc\/1\/(?:root|ns|cwd)|\bos\.chroot\(/,
    /\brelease_agent\b|\bnotify_on_release\b|>\s?\/proc\/sys\/kernel\/(?:core_pattern|modprobe)|^mount\s[^\n]{0,60}(?:\/dev\/[shv]d|\/dev\/nvme|-t\scgroup|\/dev\/xvd|\/dev\/vd|\/dev\/mapper)|^debugfs\b|^insmod\b|^mknod\s[^\n]{0,60}\sb\s|^capsh\b|^unshare\s[^\n]{0,60}(?:-\w{0,6}[rU]|--map-root)/,
    /\bvolumes\s?=\s?[{[]\s?\/(?:etc|root|proc|var\/run|home)?[\s:,]|\b(?:pid_mode|network_mode|ipc_mode|userns_mode)\s?[=:]\s?host\b|\bcap_add\s?[=:]\s?\[?\s?-?\s?(?:ALL|SYS_ADMIN|SYS_PTRACE)|\b(?:setns|unshare)\(|security\.privileged\s?=?\s?true|\bsource=\/\s|\b(?:docker|podman)\s-H\s?tcp:|\bdocker(?:\.|_)?\S{0,12}tcp:\/\/\S{1,60}:237[56]/i,
  ),
  encrypts: found(
    'It encrypts files.',
    /\bopenssl\s(?:enc|aes\S{0,16}|camellia\S{0,12}|chacha20|des3?\S{0,9}|smime\s[^\n]{0,20}-encrypt|cms\s[^\n]{0,20}-encrypt|rsautl\s[^\n]{0,20}-encrypt|pkeyutl\s[^\n]{0,20}-encrypt)(?=\s|$)(?![^\n;|]{0,60}\s-d\b)/,
    /\bgpg2?\b[^\n;|]{0,200}\s(?:-\w{0,5}[ce]\w{0,4}|--symmetric|--encrypt|--encrypt-files)(?=\s|$)|\bage\s(?:[^\n;|]{0,60}\s)?(?:-\w{0,3}[perR]|--passphrase|--encrypt|--recipient\S{0,9})|\brage\s-/,
    /\b(?:7z[ar]?|rar)\s(?:a|u|m)\b[^\n;|]{0,200}\s-(?:p|hp)|\bzip\s[^\n;|]{0,100}(?:-\w{0,5}[eP]\b|--(?:encrypt|password))|\b(?:ccrypt|ccencrypt|mcrypt|aescrypt|bcrypt|scrypt enc|gocryptfs|veracrypt|cipher \/e|manage-bde -on|picocrypt|cryfs|encfs|fscrypt|vault encrypt|ansible-vault encrypt|sops -e)\b/i,
    /\.encrypt\w{0,20}\(|\bencrypt\w{0,20}\(|\.encryptor\(|\bcreateCipheriv\(|\bsecretbox\b|\bsetpassword\(|\bAES\.new\(|\bProtect-CmsMessage\b|\bCreateEncryptor\(|\bFernet\(|\bChaCha20\w{0,12}[.(]|\bbytes\(\s?\w{1,12}\s?\^/i,
  ),
  over_many_files: found(
    'It goes through a folder and all that is in it.',
    /\bfor\s\w{1,20}\sin\s[$(]{0,3}(?:~|\/|find\b|ls\b|\*|\.\/|\w[\w.-]{0,40}\/\S{0,60}\*|\S{0,60}\*)/,
    /\bfind\b[^\n;]{0,200}(?:-exec|-print0|-type|\|\s{0,9}(?:xargs|while|parallel))\b|\bfd\s[^\n]{0,100}\s-[xX]\b|\b(?:while\s(?:IFS=\s?)?read|xargs|parallel)\b/,
    /\bos\.(?:walk|scandir|listdir)\(|\br?glob\(|\biterdir\(|\bglob\.i?glob\(|\breaddir(?:Sync)?\(|\bGet-ChildItem\b|\bgci\b|\bDir(?:\.glob|\[)|\bfor\s\/[rR]\b|\bforfiles\b|\bcipher \/e\b/i,
    /\b(?:tar|zip|7z[ar]?|rar)\s[^\n;|]{0,100}\s(?:~|\/(?:home|srv|var|data|mnt|opt|root)|[\w.-]{1,40}\/)|\bccrypt\s[^\n]{0,40}-\w{0,3}r|\bgpg2?\s[^\n;|]{0,100}(?:--encrypt-files|--multifile)/,
  ),
  replaces_originals: found(
    'It writes over or deletes the files that it read.',
    /\b(?:rm|shred|mv|unlink|srm|wipe|del|erase|Remove-Item|rename|trash)\b/i,
    /\.write(?:_bytes|_text)?\(|\bos\.(?:remove|unlink|replace|rename|truncate)\(|\brmtree\(|\b(?:writeFile|unlink|rename|rm)Sync\(|\bencryptFile\(|\bWriteAllBytes\(|\bFile\.(?:write|delete)|\.unlink\(|\bshutil\.(?:move|rmtree)\(/i,
    /\s-sdel\b|\bzip\s[^\n;|]{0,60}\s-\w{0,5}m\b|\brar\s(?:m|a\s[^\n]{0,60}-d[fw])\b|--remove-(?:files|source-files)\b|\bccrypt\b|\bccencrypt\b|\bcipher \/e\b|\bmcrypt\s[^\n;]{0,60}-u\b|-out\s(\$\w{1,20})\s[^\n;]{0,60}-in\s\1|-in\s(\$\w{1,20})\s[^\n;]{0,60}-out\s\2(?=[\s;&]|$)|\bsponge\b|ansible-vault encrypt/,
  ),
}

const NAME_OF_URL = /https?:\/\/[^\s;|&)]{1,200}\/([\w.-]{1,60})(?=[\s;|&)?]|$)/g
const NAMED = /(?:\s-\w{0,5}[oO]\s?|--output(?:-document|-file)?[ =]|-OutFile\s|>\s?)([^\s;|&>]{1,100})/g

/** A file that was fetched is run, by its name, later in the same text. */
function runsFetched({ whole }: Commands): boolean {
  const fetched = new RegExp(`(?:^|[\\s;&|(])${FETCH}\\s[^\\n;|&]{0,400}`, 'gim')
  for (const { 0: command, index } of [...whole.matchAll(fetched)].slice(0, 10)) {
    const after = whole.slice(index + command.length, index + command.length + 2_000)
    const names = [...command.matchAll(NAMED), ...command.matchAll(NAME_OF_URL)].map(([, name]) => name!)
    for (const name of names.slice(0, 8)) {
      const file = name.replace(/^.{0,100}\//, '').replace(/[^\w-]/g, '\\$&')
      if (file.length < 1) continue
      const path = `(?:[~./\\w-]{0,100}/)?${file}(?=[\\s;&|)]|$)`
      const run = `(?:${SHELL}|\\.|chmod|start|Start-Process|java)\\s(?:[^\\n;|&]{0,40}\\s)?${path}|(?:^|[;&|\\n(])\\s{0,3}(?:sudo\\s|nohup\\s)?(?:[~./]{1,3}[\\w./-]{0,100}/?|)${file}(?=[\\s;&|)]|$)`
      if (new RegExp(run, 'm').test(after)) return true
    }
  }
  return false
}
