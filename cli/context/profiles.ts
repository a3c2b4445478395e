import { mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Failure, fileReason } from '../failures/failure.ts'

/** A server and the account to use there. */
export interface Profile {
  url?: string
  /** The current project there: an ID or a name. */
  project?: string
  token?: string
  /** The origin of the token. The token is sent nowhere else. */
  tokenOrigin?: string
  email?: string
}

/** The contents of the configuration file. Its mode is 0600 because it holds tokens. */
export interface Settings {
  /** The name of the profile in use. */
  current?: string
  profiles?: Record<string, Profile>
  /** The values that `board config set` stored. */
  config?: Partial<Record<ConfigKey, string>>
  /** The person's own shortcuts for the terminal board (see `userCommandsOf`). */
  commands?: unknown
}

/** The settings of `board config` and their descriptions. */
export const configKeys = {
  pager: 'The command that shows long text (PAGER overrides it).',
  editor: 'The command that edits a text (VISUAL and EDITOR override it).',
  prompt: 'on or off: off never prompts, like --no-input.',
  color: 'on or off: off prints no color, like --no-color.',
  mouse: 'on or off: off leaves the mouse to the terminal, like --no-mouse of board ui.',
  density: 'compact or comfortable: how board ui draws cards (default: your account setting, or the available space).',
  preview: 'on or off: on shows the card under the cursor next to the board on wide terminals.',
  timeout: 'Maximum time for an answer of the server, like --timeout: 30s, 5m.',
} as const
export type ConfigKey = keyof typeof configKeys

/** The folder of the configuration file. */
function configFolder(): string {
  const { env } = process
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Preferences', 'board')
  if (process.platform === 'win32') return join(env.APPDATA ?? join(homedir(), 'AppData', 'Roaming'), 'board')
  return join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'board')
}

export const configFile = (): string => join(configFolder(), 'config.json')

/**
 * Reads the configuration file, without the package that writes it: every command reads the file.
 * @throws Failure when the file is not a JSON object.
 */
export function readSettings(): Settings {
  let text: string
  try {
    text = readFileSync(configFile(), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new Failure('failure', `the configuration file cannot be read: ${fileReason(error)}`, { hint: configFile() })
  }
  const { settings, fault } = parse(text)
  if (settings) return settings
  throw new Failure('failure', `the configuration file ${fault}: ${configFile()}`, { hint: 'repair or delete it' })
}

function parse(text: string): { settings?: Settings; fault?: string } {
  try {
    const settings = JSON.parse(text) as Settings | null
    return typeof settings === 'object' && settings !== null ? { settings } : { fault: 'is not a JSON object' }
  } catch (error) {
    const position = /position (\d+)/.exec((error as Error).message)?.[1]
    const line = position === undefined ? text.split('\n').length : text.slice(0, Number(position)).split('\n').length
    return { fault: `is not JSON in line ${line}` }
  }
}

/** Changes the configuration file in one step, mode 0600. */
export async function changeSettings(change: (settings: Settings) => Settings): Promise<void> {
  const { default: Conf } = await import('conf')
  mkdirSync(configFolder(), { recursive: true, mode: 0o700 })
  const file = new Conf<Record<string, unknown>>({
    cwd: configFolder(),
    configName: 'config',
    configFileMode: 0o600,
    accessPropertiesByDotNotation: false,
  })
  file.store = { ...change(file.store as Settings) }
}

/** Creates or changes a profile. Removes the fields that are undefined. */
export const changeProfile = (name: string, change: Profile, use = false): Promise<void> =>
  changeSettings(settings => {
    const profile = Object.fromEntries(
      Object.entries({ ...settings.profiles?.[name], ...change }).filter(([, value]) => value !== undefined),
    )
    return { ...settings, profiles: { ...settings.profiles, [name]: profile }, ...(use && { current: name }) }
  })

/** A valid name: users can type and complete it, and it can be a key in the file. */
export const isProfileName = (name: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) && name !== 'constructor'
