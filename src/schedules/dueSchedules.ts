import type { Clock } from '../async/clock.ts'
import { scheduleLimits } from '../contract/automation/schedules.ts'
import { Problem } from '../contract/errors.ts'
import { projectRole } from '../domain/accounts/access.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { change, disable as disableSchedule, hasRoomFor, makeCard } from '../domain/automation/schedules.ts'
import type { Agents } from '../domain/agents/sessions.ts'
import { presentMaker } from '../identity/makers.ts'
import { deliver } from '../notifications/deliver.ts'
import { nextAfter } from '../recurrence/recurrence.ts'
import type { Database, Reader, Transaction } from '../store/engine/database.ts'
import {
  isCardOpen,
  listDueSchedules,
  listEnabledSchedules,
  listWaitingSchedules,
  readNextRun,
  readSchedule,
  type ScheduleRow,
} from '../store/automation/schedules.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { TimedWork } from '../daemons/timer.ts'

/** The number of schedules that are read at once. Each runs in a separate transaction. */
const pageSize = 100
/** If the last run is further in the future, the clock was wrong. */
const maxAheadMs = 86_400_000
const whatNext = 'Enable the schedule again to take it over.'

interface ScheduleDependencies {
  db: Database
  webhooks: Pick<Webhooks, 'queueUserDelivery'>
  agents: Agents & { refresh(): Promise<void> }
  clock: Clock
}

/** Creates the cards of schedules when they are due. */
export const dueSchedules = (dependencies: ScheduleDependencies): TimedWork => ({
  duty: 'machine',
  nextAt: () => readNextRun(dependencies.db),
  runDue: async () => {
    for (const id of await listWaitingSchedules(dependencies.db)) await attempt(dependencies, id, runWaiting)
    for (let ids = [0]; ids.length > 0;) {
      ids = await listDueSchedules(dependencies.db, dependencies.clock().toISOString(), pageSize)
      for (const id of ids) await attempt(dependencies, id, runDue)
    }
  },
  onClockSet: () =>
    dependencies.db.transaction(async tx => {
      for (const schedule of await listEnabledSchedules(tx)) await followClock(tx, schedule)
    }),
})

type Run = (tx: Transaction, dependencies: ScheduleDependencies, schedule: ScheduleRow) => Promise<void>

/**
 * Runs a schedule in one transaction. If creating its card fails, the error is written in another one, if the run is still due
 * then.
 */
async function attempt(dependencies: ScheduleDependencies, id: number, run: Run): Promise<void> {
  const { db, agents } = dependencies
  await agents.refresh()
  const known = await readSchedule(db, id)
  if (!known) return
  const claim = (work: Run) =>
    db.transaction(
      async tx => {
        const schedule = await readSchedule(tx, id)
        if (schedule?.enabled === 1) await work(tx, dependencies, schedule)
      },
      { kind: 'schedule', id, name: known.name },
    )
  await claim(run).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    return claim(run === runWaiting ? failWaiting(error) : failDue(error))
  })
}

/** Runs a due schedule at most once, regardless of the number of missed runs. */
const runDue: Run = async (tx, dependencies, schedule) => {
  const due = dueOf(schedule, tx.now)
  if (!due) return
  const { dueAt, nextRunAt } = due
  const settled = { nextRunAt, lastDueAt: dueAt ?? schedule.lastDueAt }
  if (dueAt === null) return void (await change(tx, schedule, settled))
  const isHeld = (schedule.overlap !== 'add' && (await isLastOpen(tx, schedule))) || !(await hasRoomFor(tx, schedule))
  if (isHeld) return void (await change(tx, schedule, { ...settled, ...leftOut(schedule, dueAt) }))
  await run(tx, dependencies, schedule, dueAt, settled)
}

/** Records why a due run created no card. A permanent refusal disables the schedule. */
const failDue =
  (problem: Problem): Run =>
  async (tx, dependencies, schedule) => {
    const due = dueOf(schedule, tx.now)
    if (!due || due.dueAt === null) return
    await disable(tx, dependencies, schedule, reasonOf(problem))
  }

const runWaiting: Run = async (tx, dependencies, schedule) => {
  if (schedule.waitingSince === null) return
  if (schedule.overlap !== 'add' && (await isLastOpen(tx, schedule))) return
  if (!(await hasRoomFor(tx, schedule))) return
  await run(tx, dependencies, schedule, tx.now, { waitingSince: null })
}

const failWaiting =
  (problem: Problem): Run =>
  async (tx, dependencies, schedule) => {
    if (schedule.waitingSince !== null) await disable(tx, dependencies, schedule, reasonOf(problem))
  }

/** Creates the card with its owner's current permissions. If the owner has lost them, the schedule is disabled. */
async function run(
  tx: Transaction,
  dependencies: ScheduleDependencies,
  schedule: ScheduleRow,
  at: string,
  settled: Partial<ScheduleRow>,
): Promise<void> {
  const maker = await findMaker(tx, schedule)
  if (typeof maker === 'string') return void (await disable(tx, dependencies, schedule, `${maker} ${whatNext}`))
  const card = await makeCard(tx, dependencies.agents, schedule, { caller: maker, at })
  await change(tx, schedule, { ...settled, lastRunAt: tx.now, lastCardId: card.id })
}

/** Disables a schedule, and notifies those who work on its project. */
async function disable(
  tx: Transaction,
  { webhooks }: ScheduleDependencies,
  schedule: ScheduleRow,
  reason: string,
): Promise<void> {
  await disableSchedule(tx, schedule, reason)
  const { projectId, name } = schedule
  const message = `The schedule no longer creates cards. ${reason}`
  const notification = {
    kind: 'scheduleDisabled',
    projectId,
    cardId: null,
    cardTitle: name,
    message,
    at: tx.now,
  } as const
  await deliver(tx, webhooks, notification, { watching: [], muting: [] })
}

/** The owner as a caller, or why the schedule can no longer run. */
async function findMaker(
  db: Transaction,
  { makerUserId, makerKeyId, projectId }: ScheduleRow,
): Promise<Caller | string> {
  if (makerUserId === null) return 'The schedule has no owner.'
  const { caller, name, gone } = await presentMaker(db, { makerUserId, makerKeyId }, projectId, db.now)
  if (!caller) return gone!
  const role = await projectRole(db, caller, projectId)
  if (role === undefined || role === 'viewer') return `${name} can no longer work in this project.`
  return caller.key && !caller.key.permissions.includes('cards.create')
    ? `${name} lacks the permission cards.create.`
    : caller
}

/**
 * The due time of the current run, and the time of the next one. Undefined if no run is due. A run that is late by more than a
 * minute was missed: then `dueAt` is the time of one run that catches up, or null.
 */
function dueOf(schedule: ScheduleRow, now: string): { dueAt: string | null; nextRunAt: string | null } | undefined {
  if (schedule.nextRunAt === null || schedule.nextRunAt > now) return undefined
  const since = new Date(Date.parse(now) - scheduleLimits.onTimeSecs * 1000).toISOString()
  const first = schedule.nextRunAt >= since ? schedule.nextRunAt : nextAfter(schedule, since)
  const isOnTime = first !== null && first <= now
  return {
    dueAt: isOnTime ? first : schedule.catchUp === 'one' ? now : null,
    nextRunAt: nextAfter(schedule, now),
  }
}

/** The changes for a run that the last card or a full column prevents: one run waits, unless the schedule skips it. */
const leftOut = ({ overlap, waitingSince, skipped }: ScheduleRow, dueAt: string) =>
  overlap !== 'skip' && waitingSince === null ? { waitingSince: dueAt } : { skipped: skipped + 1 }

const isLastOpen = async (db: Reader, { lastCardId }: ScheduleRow): Promise<boolean> =>
  lastCardId !== null && isCardOpen(db, lastCardId)

/**
 * Moves the next run forward after the clock was set back. A time that has run is not run again, unless it is so far ahead that
 * the clock was wrong then.
 */
async function followClock(tx: Transaction, schedule: ScheduleRow): Promise<void> {
  const nextRunAt = nextAfter(schedule, tx.now)
  if (nextRunAt === null || schedule.nextRunAt === null || schedule.nextRunAt <= nextRunAt) return
  const ranAheadMs = schedule.lastDueAt === null ? -Infinity : Date.parse(schedule.lastDueAt) - Date.parse(tx.now)
  const hasRun = schedule.lastDueAt !== null && schedule.lastDueAt >= nextRunAt && ranAheadMs <= maxAheadMs
  const next = hasRun ? nextAfter(schedule, schedule.lastDueAt!) : nextRunAt
  if (next !== null && next < schedule.nextRunAt) await change(tx, schedule, { nextRunAt: next })
}

const reasonOf = ({ message }: Problem): string => `The card could not be created: ${message} ${whatNext}`
