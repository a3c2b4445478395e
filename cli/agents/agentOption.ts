import type { Context } from '../context/context.ts'
import { pickNamed } from '../context/resolve.ts'

/**
 * The id of an agent to be set: undefined where nothing was said, null for `none`. An API key cannot list the agents, so its word is taken.
 * @throws Failure (not found)
 */
export async function chosenAgent(
  { client, external }: Context,
  wanted: string | undefined,
): Promise<string | null | undefined> {
  if (wanted === undefined || external) return wanted === 'none' ? null : wanted
  return wanted === 'none'
    ? null
    : pickNamed('agent', await client.agents.providers(), wanted, 'board agents providers').id
}
