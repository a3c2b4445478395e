import type { Clock } from '../async/clock.ts'
import { startInTime } from '../domain/cards/cardStarts.ts'
import { projectRole } from '../domain/accounts/access.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import type { Agents } from '../domain/agents/sessions.ts'
import { presentMaker } from '../identity/makers.ts'
import { isStartDue, listDueStarts, readNextStart, type HeldCard } from '../store/cards/cardTimes.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import type { TimedWork } from '../daemons/timer.ts'

const pageSize = 100

/** Starts cards at their times. */
export const dueStarts = ({
  db,
  agents,
  clock,
}: {
  db: Database
  agents: Agents & { refresh(): Promise<void> }
  clock: Clock
}): TimedWork => ({
  duty: 'machine',
  nextAt: () => readNextStart(db),
  runDue: async () => {
    for (let page = [undefined as HeldCard | undefined]; page.length > 0;) {
      page = await listDueStarts(db, clock().toISOString(), pageSize)
      if (page.length > 0) await agents.refresh()
      for (const card of page as HeldCard[])
        await db.transaction(async tx => {
          if (await isStartDue(tx, card.id)) await startInTime(tx, agents, card, await findStarter(tx, card))
        })
    }
  },
})

/** The user who set the time as a caller, or the reason why they cannot start the card. */
async function findStarter(
  tx: Transaction,
  { projectId, starterUserId: makerUserId, starterKeyId: makerKeyId }: HeldCard,
): Promise<Caller | string> {
  if (makerUserId === null) return 'The start time was not set by a user who can start agents.'
  const { caller, name, gone } = await presentMaker(
    tx,
    { makerUserId, makerKeyId },
    projectId,
    tx.now,
    'set its start time',
  )
  if (!caller) return gone!
  const role = await projectRole(tx, caller, projectId)
  return role === undefined || role === 'viewer' ? `${name} can no longer work in this project.` : caller
}
