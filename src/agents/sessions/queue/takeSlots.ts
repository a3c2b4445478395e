import type { AgentSlots } from '../../../contract/agents/agentSlots.ts'
import { Problem } from '../../../contract/errors.ts'
import { countSlots, readAgentSlots, type SlotHolder } from '../../../domain/agents/agentSlots.ts'
import { noteSlotWait } from '../../../domain/agents/sessionWaits.ts'
import type { Database, Reader, Transaction } from '../../../store/engine/database.ts'
import { takesSlot } from '../../../store/agents/sessionPurposes.ts'
import { updateSession } from '../../../store/agents/sessions.ts'
import { hasSlotBounds, listSlotSessions, type SlotSession } from '../../../store/agents/slots.ts'
import type { QueuedSession, SessionQueue } from './sessionQueue.ts'

/** The maximum number of sessions whose wait is recorded in one commit. */
const maxToldPerCommit = 20

interface Decision {
  started: QueuedSession[]
  /** Sessions whose reason to wait for a slot has changed. Null if the session no longer waits for a slot. */
  told: Array<[SlotSession, wait: string | null]>
}

/**
 * Assigns slots to the queued sessions that can start in addition to the running ones, and removes them from the queue. There are
 * slots of this machine, which the queue counts, and slots of the server, the project, the agent and the credential, which the
 * daemons on all machines count together. The session that has waited longest, on any machine, goes first. A session that waits
 * for a slot of its own project, agent or credential does not block others.
 * @param held slots of agent checks
 * @returns the started sessions, and whether the wait of other sessions is still to be recorded
 */
export async function takeSlots(
  db: Database,
  queue: SessionQueue,
  running: readonly QueuedSession[],
  held: readonly SlotHolder[],
): Promise<{ started: QueuedSession[]; isMore: boolean }> {
  const working = [...running, ...held.map((_, at) => ({ id: 0, cardId: -1 - at, purpose: 'work' as const }))]
  const ids = queue.waiting().flatMap(({ id, purpose }) => (takesSlot(purpose) ? id : []))
  const decideSlots = async (from: Reader) =>
    decideOn(await readAgentSlots(from), await listSlotSessions(from, ids), queue, { running: working, held })
  const isBounded = ids.length > 0 && (await hasBounds(db))
  let decision: Decision = isBounded ? await decideSlots(db) : { started: queue.findStartable(working), told: [] }
  if (isBounded && (decision.told.length > 0 || decision.started.some(({ purpose }) => takesSlot(purpose))))
    decision = await db.transaction(async tx => {
      const decided = await decideSlots(tx)
      await write(tx, decided)
      return decided
    })
  queue.remove(decision.started)
  return { started: decision.started, isMore: decision.told.length > maxToldPerCommit }
}

interface Machine {
  slots: number
  runs: ReadonlyMap<number, QueuedSession>
  /** Agent checks that have a slot. */
  held: Set<SlotHolder>
  onReleased(): void
}

/**
 * Takes a free slot for an agent check.
 * @returns a function that releases the slot.
 * @throws Problem CONFLICT if no slot is free
 */
export async function holdSlot(
  db: Database,
  check: SlotHolder,
  { slots, runs, held, onReleased }: Machine,
): Promise<() => void> {
  await db.transaction(async tx => {
    held.delete(check)
    const working = [...runs.values()].filter(({ purpose, late }) => takesSlot(purpose) && !late?.isReceiving).length
    if (working + held.size >= slots)
      throw new Problem('CONFLICT', `No slot is free: the machine has ${slots === 1 ? 'one' : slots}.`)
    const taken = (await listSlotSessions(tx, [])).filter(({ hasSlot }) => hasSlot === 1)
    const wait = countSlots(await readAgentSlots(tx), [...taken, ...held]).take(check)
    if (wait !== undefined) throw new Problem('CONFLICT', wait.replace('Waiting for a slot', 'No slot is free'))
    held.add(check)
  })
  return () => {
    held.delete(check)
    onReleased()
  }
}

async function hasBounds(db: Reader): Promise<boolean> {
  const { server, agents } = await readAgentSlots(db)
  return server !== null || Object.keys(agents).length > 0 || hasSlotBounds(db)
}

function decideOn(
  slots: AgentSlots,
  sessions: readonly SlotSession[],
  queue: SessionQueue,
  { running, held }: { running: readonly QueuedSession[]; held: readonly SlotHolder[] },
): Decision {
  const byId = new Map(sessions.map(each => [each.id, each]))
  const count = countSlots(slots, [...sessions.filter(({ hasSlot }) => hasSlot === 1), ...held])
  const elsewhere = sessions.filter(({ hasSlot, isOwn }) => hasSlot === 0 && isOwn === 0)
  const waits = new Map<number, string>()
  const started = queue.findStartable(running, ({ id, purpose }) => {
    const session = byId.get(id)
    if (!takesSlot(purpose) || session?.hasSlot) return true
    if (!session) return false
    while (elsewhere[0] && (session.slotAwaitedAt === null || elsewhere[0].slotAwaitedAt! < session.slotAwaitedAt))
      count.take(elsewhere.shift()!)
    const wait = count.take(session)
    if (wait !== undefined) waits.set(id, wait)
    return wait === undefined
  })
  const isStarted = new Set(started.map(({ id }) => id))
  const told = queue.waiting().flatMap(({ id }): Decision['told'] => {
    const session = byId.get(id)
    const wait = waits.get(id) ?? null
    return session && !isStarted.has(id) && wait !== session.slotWait ? [[session, wait]] : []
  })
  return { started, told }
}

async function write(tx: Transaction, { started, told }: Decision): Promise<void> {
  for (const { id, purpose } of started)
    if (takesSlot(purpose)) await updateSession(tx, id, { slotTakenAt: tx.now, slotAwaitedAt: null, slotWait: null })
  for (const [session, wait] of told.slice(0, maxToldPerCommit)) await noteSlotWait(tx, session, wait)
}
