import type { Command } from 'commander'
import { nouns } from '../tree.ts'

/** Loads the subcommands of all nouns, for completion and for the complete help. */
export async function loadAll(program: Command): Promise<Command> {
  await Promise.all(program.commands.map(command => load(command)))
  return program
}

const loaded = new WeakSet<Command>()

/**
 * Loads the verbs of a noun once. Some nouns load only the requested verb. A verb can have the name of a noun (`settings auth`).
 */
export async function load(command: Command, verb?: string): Promise<void> {
  const noun = command.parent?.parent === null ? nouns.find(({ name }) => name === command.name()) : undefined
  if (!noun || loaded.has(command)) return
  loaded.add(command)
  const file = await noun.load()
  await file.register(command, verb)
}
