import type { Command } from 'commander'

/** The options that every command takes, as they were typed. */
export interface Globals {
  url?: string
  tokenFile?: string
  profile?: string
  project?: string
  /** `true`: everything; text: the names of the wanted fields, with commas. */
  json?: string | true
  jq?: string
  quiet?: boolean
  /** false: `--no-input` was given. */
  input?: boolean
  /** false: `--no-color` was given. */
  color?: boolean
  debug?: boolean
  /** Seconds. */
  timeout?: number
}

export const globalsOf = (command: Command): Globals => root(command).opts<Globals>()

const root = (command: Command): Command => (command.parent ? root(command.parent) : command)
