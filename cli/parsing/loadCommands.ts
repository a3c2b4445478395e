import type { Command } from 'commander'
import { nouns } from '../tree.ts'

/** Loads what is below every noun, for completion and for the whole help. */
export async function loadAll(program: Command): Promise<Command> {
  await Promise.all(program.commands.map(command => load(command)))
  return program
}

const loaded = new WeakSet<Command>()

/** Loads what is below one noun, once; of some nouns only the verb that is meant. A verb may be called like a noun (`settings auth`). */
export async function load(command: Command, verb?: string): Promise<void> {
  const noun = command.parent?.parent === null ? nouns.find(({ name }) => name === command.name()) : undefined
  if (!noun || loaded.has(command)) return
  loaded.add(command)
  const file = await noun.load()
  await file.register(command, verb)
}
