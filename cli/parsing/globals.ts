import type { Command } from 'commander'

export type ColorUse = 'always' | 'never' | 'auto'

/** The global options as typed. */
export interface Globals {
  url?: string
  tokenFile?: string
  profile?: string
  project?: string
  /** `true`: everything; text: the names of the wanted fields, with commas. */
  json?: string | true
  jq?: string
  template?: string
  quiet?: boolean
  /** False if `--no-input` is set. */
  input?: boolean
  /** When to print color; false for `--no-color`. */
  color?: ColorUse | false
  debug?: boolean
  /** The timeout in seconds. */
  timeout?: number
}

/** Returns the typed global options, without those that the command redefines. */
export function globalsOf(command: Command): Globals {
  const own = (command.parent ? command.options : []).map(option => option.attributeName())
  return Object.fromEntries(Object.entries(root(command).opts<Globals>()).filter(([name]) => !own.includes(name)))
}

const root = (command: Command): Command => (command.parent ? root(command.parent) : command)
