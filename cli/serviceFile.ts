import { homedir } from 'node:os'
import { join } from 'node:path'

/** A service of the platform's own, which starts a server at sign-in or boot and again when it fails. */
export interface Service {
  /** Where its file belongs. */
  path: string
  text: string
  /** Commands that make the platform take it up, and that undo it. */
  enable: string[][]
  disable: string[][]
  start: string[]
  stop: string[]
}
export interface ServiceOptions {
  node: string
  program: string
  args: readonly string[]
  dataDir: string
  path: string
}

const label = 'board.server'

/** A unit for the user's systemd. Work gets 20 s to end. */
export function systemdUnit({ node, program, args, dataDir, path }: ServiceOptions): Service {
  const text = `[Unit]
Description=board, a project board server
Documentation=man:systemd.service(5)
After=network-online.target

[Service]
ExecStart=${[node, program, 'serve', ...args].map(quoted).join(' ')}
Environment=${quoted(`BOARD_DATA_DIR=${dataDir}`)}
Environment=${quoted(`PATH=${path}`)}
Restart=on-failure
RestartSec=2
TimeoutStopSec=20
KillMode=mixed
UMask=0077

[Install]
WantedBy=default.target
`
  const systemctl = (...words: string[]) => ['systemctl', '--user', ...words]
  return {
    path: join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'systemd', 'user', 'board.service'),
    text,
    enable: [systemctl('daemon-reload'), systemctl('enable', '--now', 'board.service')],
    disable: [systemctl('disable', '--now', 'board.service')],
    start: systemctl('start', 'board.service'),
    stop: systemctl('stop', 'board.service'),
  }
}

/** A property list for launchd of macOS. */
export function launchdPlist({ node, program, args, dataDir, path }: ServiceOptions): Service {
  const strings = [node, program, 'serve', ...args].map(each => `    <string>${escaped(each)}</string>`).join('\n')
  const file = join(homedir(), 'Library', 'LaunchAgents', `${label}.plist`)
  const domain = `gui/${process.getuid?.() ?? 0}`
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${label}</string>
  <key>ProgramArguments</key>
  <array>
${strings}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>BOARD_DATA_DIR</key>
    <string>${escaped(dataDir)}</string>
    <key>PATH</key>
    <string>${escaped(path)}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>20</integer>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
`
  return {
    path: file,
    text,
    enable: [['launchctl', 'bootstrap', domain, file]],
    disable: [['launchctl', 'bootout', `${domain}/${label}`]],
    start: ['launchctl', 'kickstart', `${domain}/${label}`],
    stop: ['launchctl', 'kill', 'SIGTERM', `${domain}/${label}`],
  }
}

/** A word of a systemd command line: specifiers and variables have no meaning in it. */
const quoted = (word: string): string =>
  /^[\w/.:=@,+-]+$/.test(word) ? word : `"${word.replace(/[\\"]/g, '\\$&').replace(/%/g, '%%').replace(/\$/g, '$$$$')}"`
const escaped = (text: string): string => text.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`)
