import { startsAgent } from '../../src/client/agentStarts.ts'
import { retryOnRateLimit } from '../requests/retryOnRateLimit.ts'
import { getCard, inItsProject, type CardPlace } from './cardApi.ts'
import type { Context } from '../context/context.ts'
import { exitOf } from '../failures/failure.ts'
import { confirm } from '../input/prompt.ts'
import { listColumns } from '../context/resolve.ts'

type Target = { id: string; columnType: string }

/**
 * Returns the cards whose agents start when they move to the columns from `targetOf`. Cards that cannot be read are left to the
 * move, which reports the error.
 */
export const startersOf = (
  context: Context,
  ids: readonly string[],
  targetOf: (place: CardPlace) => Promise<Target>,
): Promise<Set<string>> =>
  findStarting(context, ids, async place => {
    const column = await targetOf(place)
    return column.columnType === 'active' && startsAgent(await getCard(context, place), column)
  })

/** The cards that start the agents of their next step when their current step is approved. */
export const nextStepsOf = (context: Context, ids: readonly string[]): Promise<Set<string>> =>
  findStarting(context, ids, async place => {
    const card = await getCard(context, place)
    if (card.status !== 'completed') return false
    const [{ steps }, columns] = await Promise.all([
      context.client.cards.getPipeline(place),
      listColumns(context, place.projectId, card.boardId),
    ])
    const active = steps.filter(({ columnId }) => columns.find(({ id }) => id === columnId)?.columnType === 'active')
    const at = active.findIndex(({ columnId }) => columnId === card.columnId)
    return at >= 0 && at + 1 < active.length
  })

/**
 * Asks for confirmation before more than one agent starts.
 * @throws Failure (usage) without a terminal, (failure) if the user declines
 */
export async function confirmStarts(context: Context, count: number, yes: boolean | undefined): Promise<void> {
  if (count <= 1) return
  if (!yes) await warnOfMissingAgents(context)
  await confirm(context, `Start ${count} agents?`, yes)
}

/** Warns that no agent can start, if none is installed on the server. */
export async function warnOfMissingAgents({ client, out }: Context): Promise<void> {
  // A key that cannot list agents gets the error from the start itself.
  const agents = await client.agents.providers().catch(() => [])
  const example = agents.find(({ install }) => install !== null)
  if (example === undefined || agents.some(({ installed }) => installed)) return
  out.warn(
    `no agent is installed on the server, so no agent starts. To install ${example.name}: ${example.install} (see: board agents providers)`,
  )
}

async function findStarting(
  context: Context,
  ids: readonly string[],
  wouldStart: (place: CardPlace) => Promise<boolean>,
): Promise<Set<string>> {
  const found = new Set<string>()
  for (const id of ids)
    try {
      if (await retryOnRateLimit(() => inItsProject(context, id, wouldStart))) found.add(id)
    } catch (error) {
      // A key that can move but not read cannot determine whether the move starts an agent.
      if (exitOf(error) === 'denied') found.add(id)
      else if (exitOf(error) === 'unreachable') throw error
    }
  return found
}
