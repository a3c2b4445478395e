import { homedir } from 'node:os'
import { join } from 'node:path'

/** A service of the platform's service manager, which starts a server at sign-in or boot and restarts it on failure. */
export interface Service {
  /** The service manager. */
  manager: 'systemd' | 'launchd'
  /** The path of its file. */
  path: string
  text: string
  /** The links that the manager creates in addition to the file. */
  links: string[]
  /** The command that succeeds if the manager accepts commands from this account. */
  probe: string[]
  /** The command that prints the process ID of the service. */
  mainPid: string[]
  /** The command that reloads the manager's files. */
  reload: string[]
  /** Commands that register the service with the platform, and that undo it. */
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

/** Returns a unit for the user's systemd. Work has 20 s to end, and each session has a control group within the unit's own. */
export function systemdUnit({ node, program, args, dataDir, path }: ServiceOptions): Service {
  const text = `[Unit]
Description=board, a project board server
Documentation=man:systemd.service(5)
# ${argumentsNote(args)}
After=network-online.target

[Service]
ExecStart=${[node, program, 'serve', ...args].map(quoteWord).join(' ')}
Environment=${quoteWord(`BOARD_DATA_DIR=${dataDir}`)}
Environment=${quoteWord(`PATH=${path}`)}
Restart=on-failure
RestartSec=2
TimeoutStopSec=20
KillMode=mixed
Delegate=memory pids
UMask=0077

[Install]
WantedBy=default.target
`
  const systemctl = (...words: string[]) => ['systemctl', '--user', ...words]
  const folder = join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'systemd', 'user')
  return {
    manager: 'systemd',
    path: join(folder, 'board.service'),
    links: [join(folder, 'default.target.wants', 'board.service')],
    probe: systemctl('show-environment'),
    mainPid: systemctl('show', 'board.service', '--property=MainPID', '--value'),
    reload: systemctl('daemon-reload'),
    text,
    enable: [systemctl('daemon-reload'), systemctl('enable', '--now', 'board.service')],
    disable: [systemctl('disable', '--now', 'board.service')],
    start: systemctl('start', 'board.service'),
    stop: systemctl('stop', 'board.service'),
  }
}

/** A property list for launchd of macOS. */
export function launchdPlist({ node, program, args, dataDir, path }: ServiceOptions): Service {
  const strings = [node, program, 'serve', ...args].map(each => `    <string>${escapeXml(each)}</string>`).join('\n')
  const file = join(homedir(), 'Library', 'LaunchAgents', `${label}.plist`)
  const domain = `gui/${process.getuid?.() ?? 0}`
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${argumentsNote(args)} -->
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
    <string>${escapeXml(dataDir)}</string>
    <key>PATH</key>
    <string>${escapeXml(path)}</string>
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
    manager: 'launchd',
    path: file,
    links: [],
    probe: ['launchctl', 'print', domain],
    mainPid: ['launchctl', 'list', label],
    reload: ['launchctl', 'print', domain],
    text,
    enable: [['launchctl', 'bootstrap', domain, file]],
    disable: [['launchctl', 'bootout', `${domain}/${label}`]],
    start: ['launchctl', 'kickstart', `${domain}/${label}`],
    stop: ['launchctl', 'kill', 'SIGTERM', `${domain}/${label}`],
  }
}

/**
 * Returns the arguments of `board serve` as a comment, for a start without the manager. Two hyphens would end an XML
 * comment.
 */
const argumentsNote = (args: readonly string[]): string =>
  `arguments: ${JSON.stringify(args).replaceAll('-', '\\u002d')}`

/** Returns the arguments of `board serve` from a service file. */
export function argumentsIn(text: string): string[] {
  const [, found] = /^(?:#|<!--) arguments: (\[.*\])/m.exec(text) ?? []
  return found === undefined ? [] : (JSON.parse(found) as string[])
}

/** A word of a systemd command line: specifiers and variables have no meaning in it. */
const quoteWord = (word: string): string =>
  /^[\w/.:=@,+-]+$/.test(word) ? word : `"${word.replace(/[\\"]/g, '\\$&').replace(/%/g, '%%').replace(/\$/g, '$$$$')}"`
const escapeXml = (text: string): string => text.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`)
