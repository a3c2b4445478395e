import type { Command } from 'commander'

/** Returns the full name of a command: `board cards list`. */
export const lineOf = (command: Command): string =>
  command.parent ? `${lineOf(command.parent)} ${command.name()}` : 'board'

/** Returns the name of a command without the program: `cards list`. */
export const nameOf = (command: Command): string => lineOf(command).replace(/^board ?/, '')
