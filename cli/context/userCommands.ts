import { Failure } from '../failures/failure.ts'
import { configFile, type Settings } from './profiles.ts'

/** A shortcut of the terminal board that runs a command of the person. */
export interface UserCommand {
  key: string
  name: string
  /** The command for `sh -c`. */
  run: string
  /** Whether the command runs without the terminal. The first line of its output is shown on the board. */
  background: boolean
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

/**
 * Reads `commands` of the configuration file of this machine. This file is their only source, because a server must not run
 * commands on this machine.
 * @throws Failure (usage) that names the invalid entry
 */
export function userCommandsOf({ commands = [] }: Pick<Settings, 'commands'>): UserCommand[] {
  if (!Array.isArray(commands)) throw invalidCommand('commands must be a list')
  return commands.map((entry: unknown, at) => {
    const { key, name, run, background } = (entry ?? {}) as Record<string, unknown>
    if (!isText(key) || !isText(run)) throw invalidCommand(`commands[${at}] needs a key and a command to run`)
    if (background !== undefined && typeof background !== 'boolean')
      throw invalidCommand(`background of commands[${at}] must be true or false`)
    return { key: key.trim(), name: isText(name) ? name.trim() : run.trim(), run, background: background ?? false }
  })
}

const invalidCommand = (message: string): Failure =>
  new Failure('usage', `the configuration file: ${message}`, {
    hint: `for example: {"key": "ctrl+t", "name": "Run the tests", "run": "npm test"}`,
    see: configFile(),
  })
