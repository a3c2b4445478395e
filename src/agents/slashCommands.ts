import type { InferOutput } from 'valibot'
import type { SlashCommand } from '../contract/agents/agents.ts'

type Command = InferOutput<typeof SlashCommand>

/** Sorts commands by name. Duplicates are merged: the first gives the description, and all their agents are named. */
export function merge(commands: readonly Command[]): Command[] {
  const merged = new Map<string, Command>()
  for (const command of commands) {
    const known = merged.get(command.name)
    merged.set(command.name, known ? { ...known, agents: [...known.agents, ...command.agents] } : command)
  }
  return [...merged.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}
