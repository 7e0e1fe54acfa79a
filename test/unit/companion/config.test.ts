import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigError, parseConfig } from '../../../companion/config.ts'

const GOOD = `vehicle: uav1
catalog: px4/catalog.yaml
mavlink:
  endpoint: udpin://127.0.0.1:14540
mqtt:
  url: mqtt://broker:1883
`

function problems(text: string): string[] {
  try {
    parseConfig(text, 'halo.yaml')
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
  return []
}

describe('configuration', () => {
  it('fills in defaults, and takes paths from its own folder', () => {
    expect(parseConfig(GOOD, '/etc/halo/halo.yaml')).toEqual({
      vehicle: 'uav1',
      catalog: '/etc/halo/px4/catalog.yaml',
      rules: [],
      mavlink: { endpoint: 'udpin://127.0.0.1:14540', component: 191 },
      preflight: 'refuse',
      maxSpeed: 5,
      mqtt: { url: 'mqtt://broker:1883', protocol: 4, certificates: {} },
      journal: '/etc/halo/uav1.journal',
      log: { level: 'info' },
    })
  })

  it('reads the other sample, for an ArduCopter', () => {
    const file = resolve('examples/ardupilot-copter/halo.yaml')
    const catalog = resolve('examples/ardupilot-copter/catalog.yaml')
    expect(parseConfig(readFileSync(file, 'utf8'), file)).toMatchObject({ catalog, preflight: 'warn' })
  })

  it('reads the sample configuration, also with everything in it that is commented out', () => {
    const file = resolve('examples/halo.yaml')
    const text = readFileSync(file, 'utf8')
    expect(parseConfig(text, file)).toMatchObject({ vehicle: 'uav1', mqtt: { embedded: '127.0.0.1:1883' } })
    const other = text
      .replace('  embedded: 127.0.0.1:1883', '')
      .replace('# url:', 'url:')
      .replace('# protocol:', 'protocol:')
      .replace(/# (ca|cert|key):/g, '$1:')
      .replace('# journal:', 'journal:')
      .replace('# signing:', 'signing:')
      .replace('# agents:', 'agents:')
      .replace('# allow_unsigned:', 'allow_unsigned:')
    expect(parseConfig(other, file)).toMatchObject({
      mqtt: {
        url: 'mqtts://companion:secret@broker.example:8883',
        protocol: 4,
        certificates: {
          ca: resolve('examples/certificates/ca.crt'),
          cert: resolve('examples/certificates/companion.crt'),
          key: resolve('examples/certificates/companion.key'),
        },
        agents: {
          url: 'mqtts://companion:secret@broker.example:8883',
          certificates: {
            ca: resolve('examples/certificates/ca.crt'),
            cert: resolve('examples/certificates/companion-agents.crt'),
            key: resolve('examples/certificates/companion-agents.key'),
          },
        },
      },
      journal: '/var/lib/halo/uav1.journal',
      mavlink: {
        signing: { key: resolve('examples/uav1.key'), linkId: 0, stamps: '/var/lib/halo/uav1.signing' },
      },
    })
  })

  it('takes the system id of the vehicle', () => {
    expect(parseConfig(GOOD.replace('14540', '14540\n  system: 7'), 'halo.yaml').mavlink.system).toBe(7)
  })

  it('G5: lets an endpoint that others reach be unsigned only where that is said', () => {
    const mavlink = (text: string) => parseConfig(GOOD.replace(/endpoint: .*/, text), '/etc/halo/halo.yaml').mavlink
    for (const endpoint of ['udpin://0.0.0.0:14540', 'udpout://192.168.1.10:14550', 'udpout://autopilot.local:14550']) {
      expect(() => mavlink(`endpoint: ${endpoint}`)).toThrow('is not signed')
      expect(() => mavlink(`endpoint: ${endpoint}\n  allow_unsigned: false`)).toThrow('is not signed')
      expect(mavlink(`endpoint: ${endpoint}\n  allow_unsigned: true`)).toEqual({ endpoint, component: 191 })
      expect(mavlink(`endpoint: ${endpoint}\n  signing: { key: secret/key, link_id: 2 }`)).toEqual({
        endpoint,
        component: 191,
        signing: {
          key: '/etc/halo/secret/key',
          linkId: 2,
          stamps: '/etc/halo/uav1.signing',
          heard: '/etc/halo/uav1.heard',
        },
      })
    }
    for (const endpoint of [
      'udpout://localhost:14550',
      'tcpout://10.0.0.1:5760',
      '"serial:///dev/ttyAMA0?baud=57600"',
    ]) {
      expect(mavlink(`endpoint: ${endpoint}`).signing).toBeUndefined()
    }
  })

  const mistakes: [name: string, text: string, expected: string[]][] = [
    [
      'an unknown key',
      GOOD.replace('vehicle: uav1', 'vehicle: uav1\ncatalogue: x'),
      ['halo.yaml:2:1: catalogue: unknown key (did you mean `catalog`?)'],
    ],
    [
      'an unknown key inside',
      GOOD.replace('14540', '14540\n  componend: 1'),
      ['halo.yaml:5:3: mavlink.componend: unknown key (did you mean `component`?)'],
    ],
    ['a missing key', GOOD.replace(/^catalog.*\n/m, ''), ['halo.yaml:1:1: catalog: is missing']],
    [
      'a name that no topic takes',
      GOOD.replace('uav1', 'uav/1'),
      ['halo.yaml:1:10: vehicle: must be 1 to 64 letters, digits, _ and -'],
    ],
    [
      'an endpoint of another kind',
      GOOD.replace('udpin', 'udp'),
      [
        'halo.yaml:4:13: mavlink.endpoint: must be udpin://host:port, udpout://host:port or tcpout://host:port, the port at most 65535, or serial:///dev/ttyAMA0?baud=921600',
      ],
    ],
    [
      'a serial port without its speed',
      GOOD.replace('udpin://127.0.0.1:14540', 'serial:///dev/ttyAMA0'),
      [expect.stringMatching(/^halo\.yaml:4:13: mavlink\.endpoint: .*\?baud= must be 1 to 12000000/)],
    ],
    [
      'an unsigned socket that others reach',
      GOOD.replace('127.0.0.1', '0.0.0.0'),
      [
        'halo.yaml:4:13: mavlink.endpoint: reaches beyond this machine and is not signed: anyone on that network could feed it state or fly the vehicle. Set `mavlink.signing`, or bind to 127.0.0.1 behind a router, or accept that with `mavlink.allow_unsigned: true`',
      ],
    ],
    [
      'a link id beyond a byte, and a key of signing that there is not',
      GOOD.replace('14540', '14540\n  signing: { key: k, link_id: 256, linkid: 1 }'),
      [
        'halo.yaml:5:31: mavlink.signing.link_id: must be 0 to 255',
        'halo.yaml:5:36: mavlink.signing.linkid: unknown key (did you mean `link_id`?)',
      ],
    ],
    ['two brokers', `${GOOD}  embedded: 127.0.0.1:1883\n`, ['halo.yaml:5:1: mqtt: needs either `url` or `embedded`']],
    [
      'no broker',
      GOOD.replace('url: mqtt://broker:1883', 'protocol: 5'),
      ['halo.yaml:5:1: mqtt: needs either `url` or `embedded`'],
    ],
    [
      'a certificate without its key',
      GOOD.replace('mqtt://broker:1883', 'mqtts://broker:8883\n  cert: companion.crt'),
      ['halo.yaml:7:9: mqtt.cert: needs `key` beside it'],
    ],
    [
      'a key without its certificate',
      GOOD.replace('mqtt://broker:1883', 'wss://broker:8883\n  key: companion.key'),
      ['halo.yaml:7:8: mqtt.key: needs `cert` beside it'],
    ],
    [
      'an authority for a connection that is not encrypted',
      `${GOOD}  ca: ca.crt\n`,
      ['halo.yaml:7:7: mqtt.ca: needs an encrypted `url`: mqtts:// or wss://'],
    ],
    [
      'certificates for the embedded broker, which speaks to this machine only',
      GOOD.replace('url: mqtt://broker:1883', 'embedded: 127.0.0.1:1883\n  cert: a.crt\n  key: a.key'),
      [
        'halo.yaml:7:9: mqtt.cert: needs an encrypted `url`: mqtts:// or wss://',
        'halo.yaml:8:8: mqtt.key: needs an encrypted `url`: mqtts:// or wss://',
      ],
    ],
    ...['0.0.0.0', '192.168.1.10', 'companion'].map((host): [string, string, string[]] => [
      `an embedded broker that others reach, on ${host}`,
      GOOD.replace('url: mqtt://broker:1883', `embedded: ${host}:1883`),
      [
        'halo.yaml:6:13: mqtt.embedded: reaches beyond this machine, and the embedded broker has no access list and no encryption: anyone on that network could speak as an agent, the ground or the operator. Bind to 127.0.0.1, or use a broker that has both (examples/deploy), or accept that with `mqtt.allow_open: true`',
      ],
    ]),
    [
      'another user for the embedded broker',
      GOOD.replace('url: mqtt://broker:1883', 'embedded: 127.0.0.1:1883\n  agents: { url: "mqtt://b:1" }'),
      ['halo.yaml:7:11: mqtt.agents: the embedded broker knows the companion: leave this key out'],
    ],
    [
      'a certificate for agents without its key',
      GOOD.replace('mqtt://broker:1883', 'mqtts://b:8883\n  agents: { cert: a.crt }'),
      ['halo.yaml:7:11: mqtt.agents: needs `cert` and `key`, or neither'],
    ],
    [
      'a path that is none',
      GOOD.replace('mqtt://broker:1883', 'mqtts://b:8883\n  ca: ""'),
      ['halo.yaml:7:7: mqtt.ca: must be the path of a file'],
    ],
    ['another protocol', `${GOOD}  protocol: 3\n`, ['halo.yaml:7:13: mqtt.protocol: must be 4 (MQTT 3.1.1) or 5']],
    [
      'a component id beyond a byte',
      GOOD.replace('14540', '14540\n  component: 256'),
      ["halo.yaml:5:14: mavlink.component: must be 2 to 255: 1 is the autopilot's"],
    ],
    [
      'the component id of the autopilot',
      GOOD.replace('14540', '14540\n  component: 1'),
      ["halo.yaml:5:14: mavlink.component: must be 2 to 255: 1 is the autopilot's"],
    ],
    [
      'a system id that is everybody’s',
      GOOD.replace('14540', '14540\n  system: 0'),
      ['halo.yaml:5:11: mavlink.system: must be 1 to 255'],
    ],
    [
      'a system id beyond a byte',
      GOOD.replace('14540', '14540\n  system: 256'),
      ['halo.yaml:5:11: mavlink.system: must be 1 to 255'],
    ],
    [
      'a system id that is no number',
      GOOD.replace('14540', '14540\n  system: uav1'),
      ['halo.yaml:5:11: mavlink.system: must be an integer'],
    ],
    [
      'several at once',
      GOOD.replace('vehicle: uav1', 'vehicle: ""').replace('mqtt://broker', 'http://broker'),
      [
        'halo.yaml:1:10: vehicle: must be 1 to 64 letters, digits, _ and -',
        'halo.yaml:6:8: mqtt.url: must be mqtt://host:port, mqtts://, ws:// or wss://',
      ],
    ],
  ]
  it.each(mistakes)('names file, line, column and key of %s', (_, text, expected) => {
    expect(problems(text)).toEqual(expected)
  })

  it('opens an embedded broker to others where that is said', () => {
    const text = GOOD.replace('url: mqtt://broker:1883', 'embedded: 0.0.0.0:1883\n  allow_open: true')
    expect(parseConfig(text, 'halo.yaml').mqtt).toEqual({ embedded: '0.0.0.0:1883' })
  })

  it('refuses what is not YAML, and a key given twice', () => {
    expect(problems('vehicle: [')[0]).toMatch(/^halo\.yaml:\d+:\d+: \(yaml\): /)
    expect(problems(`${GOOD}vehicle: uav2\n`)[0]).toBe(
      'halo.yaml:7:1: (yaml): the key `vehicle` stands here again: it was given in line 1',
    )
    expect(problems('')).toEqual(['halo.yaml:1:1: (yaml): is empty: it must be a map of keys'])
  })
})
