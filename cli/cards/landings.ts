import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import { Failure } from '../failures/failure.ts'
import type { Column } from '../output/output.ts'

export type Landing = Output<Contract['landings']['add']>

export const landingFields: Column<Landing>[] = [
  { name: 'cardId', header: 'CARD', style: 'id', align: 'right', value: landing => landing.cardId },
  { name: 'cardTitle', header: 'TITLE', style: 'title', value: landing => landing.cardTitle },
  { name: 'branch', header: 'INTO', value: landing => landing.branch },
  { name: 'status', style: 'status', value: landing => landing.status },
  { name: 'reason', style: 'text', value: reasonOf },
  { name: 'finishedAt', header: 'FINISHED', style: 'time', spare: true, value: landing => landing.finishedAt },
  ...(['id', 'squash', 'withAgent', 'requestedBy', 'mergeCommit', 'createdAt', 'startedAt'] as const).map(
    (name): Column<Landing> => ({ name, hidden: true, value: landing => landing[name] }),
  ),
]

/** The reason, and what happens next. */
function reasonOf({ reason, withAgent }: Landing): string | null {
  return withAgent ? `${reason} Its agent fixes it.` : reason
}

/** Whether an entry is in the queue, or returns to it. */
export const isOpen = ({ status, withAgent }: Landing): boolean =>
  status === 'waiting' || status === 'testing' || withAgent

/** The latest entry of a card. @throws Failure (not found) */
export async function findLanding({ client }: Context, projectId: string, cardId: string): Promise<Landing> {
  const { entries } = await client.landings.list({ projectId })
  const own = entries.filter(entry => entry.cardId === cardId)
  const found = own.find(isOpen) ?? own[0]
  if (found) return found
  throw new Failure('notFound', `card ${cardId} is not in the landing queue`, { see: 'board landing list' })
}
