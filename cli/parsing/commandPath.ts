import type { Command } from 'commander'

/** `board cards list`, for a command. */
export const lineOf = (command: Command): string =>
  command.parent ? `${lineOf(command.parent)} ${command.name()}` : 'board'

/** `cards list`, for a command. */
export const nameOf = (command: Command): string => lineOf(command).replace(/^board ?/, '')
