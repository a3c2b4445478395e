import { noChoice, changedChoice, projectLevels } from '../agents/agentChoice.ts'
import type { AgentChoice } from '../../contract/agents/agentChoice.ts'
import { invalid, Problem } from '../../contract/errors.ts'
import { datePlaceholder, scheduleLimits } from '../../contract/automation/schedules.ts'
import { appendEvent } from '../../events/outbox.ts'
import { nextAfter, nextTimes, requireTiming, type Timing } from '../../recurrence/recurrence.ts'
import { dayOf, localTimeZone } from '../../recurrence/wallClock.ts'
import { listPeopleOf } from '../../store/cards/cardPeople.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import { readColumn, readDefaultColumn } from '../../store/boards/columns.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import {
  countSchedules,
  deleteSchedule,
  insertSchedule,
  listSchedules,
  readSchedule,
  updateSchedule,
  type ScheduleChange,
  type ScheduleRow,
  type StoredTemplate,
} from '../../store/automation/schedules.ts'
import { schedule as view } from '../../views/schedules.ts'
import type { Caller } from '../accounts/caller.ts'
import { assigneesFor } from '../cards/cardPeople.ts'
import { columnOfProject, create as createCard } from '../cards/cards.ts'
import { hasRoom } from '../boards/columnLimits.ts'
import { makerFor } from '../accounts/makers.ts'
import type { Agents } from '../agents/sessions.ts'
import { startRefusal } from '../cards/startPermission.ts'

export interface ScheduleRef {
  projectId: number
  scheduleId: number
}
/** The timing of a schedule. Either `cron` or `everySecs` is set. */
interface GivenTiming {
  cron?: string
  everySecs?: number
  timeZone?: string
}
type GivenTemplate = Partial<StoredTemplate> & Pick<StoredTemplate, 'title'>
export type NewSchedule = GivenTiming &
  Pick<ScheduleRow, 'name' | 'overlap' | 'catchUp'> & { template: GivenTemplate; enabled: boolean }
export type ScheduleEdit = GivenTiming &
  Partial<Pick<ScheduleRow, 'name' | 'overlap' | 'catchUp'>> & {
    template?: Partial<StoredTemplate>
    enabled?: boolean
  }

const emptyTemplate: StoredTemplate = {
  title: '',
  prompt: '',
  labels: [],
  columnId: null,
  useWorktree: true,
  autoMode: false,
  ...noChoice,
  assigneeIds: [],
  priority: 'normal',
}

/** A project's schedules, oldest first. */
export const list = (db: Reader, projectId: number): Promise<ScheduleRow[]> => listSchedules(db, projectId)

/** @throws Problem SCHEDULE_NOT_FOUND */
async function find(db: Reader, { projectId, scheduleId }: ScheduleRef): Promise<ScheduleRow> {
  const schedule = await readSchedule(db, scheduleId)
  if (schedule?.projectId !== projectId) throw new Problem('SCHEDULE_NOT_FOUND')
  return schedule
}

/** The next runs of a schedule that would be created now. @throws Problem VALIDATION_FAILED */
export function preview(given: GivenTiming, now: string): { timeZone: string; nextRuns: string[] } {
  if ((given.cron === undefined) === (given.everySecs === undefined))
    throw invalid('cron', 'or everySecs is required, but not both')
  const timing = newTiming(given, now)
  return { timeZone: timing.timeZone, nextRuns: nextTimes(timing, now, scheduleLimits.nextRuns) }
}

/**
 * Creates a schedule whose runs have the caller's permissions.
 * @throws Problem VALIDATION_FAILED, COLUMN_NOT_FOUND, COLUMN_IN_OTHER_PROJECT, CONFLICT if the project has too many,
 * INSUFFICIENT_PERMISSIONS for a key without a permission that the schedule requires
 */
export async function create(
  tx: Transaction,
  agents: Agents,
  caller: Caller,
  projectId: number,
  { name, overlap, catchUp, enabled, template, ...given }: NewSchedule,
): Promise<ScheduleRow> {
  if ((await countSchedules(tx, projectId)) >= scheduleLimits.maxPerProject)
    throw new Problem('CONFLICT', `A project can have at most ${scheduleLimits.maxPerProject} schedules.`)
  const timing = newTiming(given, tx.now)
  const scheduleId = await insertSchedule(tx, {
    projectId,
    name,
    ...timing,
    template: await checkedTemplate(tx, agents, caller, projectId, emptyTemplate, template),
    overlap,
    catchUp,
    enabled,
    nextRunAt: enabled ? nextAfter(timing, tx.now) : null,
    ...(await makerFor(tx, caller)),
  })
  return announce(tx, 'schedule.created', { projectId, scheduleId })
}

/**
 * Changes a schedule. A caller who changes more than its name, other than to disable it, becomes its owner.
 * @throws Problem SCHEDULE_NOT_FOUND, and as `create`
 */
export async function update(
  tx: Transaction,
  agents: Agents,
  caller: Caller,
  ref: ScheduleRef,
  { name, enabled, template, ...change }: ScheduleEdit,
): Promise<ScheduleRow> {
  const schedule = await find(tx, ref)
  const { overlap = schedule.overlap, catchUp = schedule.catchUp, ...given } = change
  const timing = changedTiming(schedule, given, tx.now)
  const [wasEnabled, isEnabled] = [schedule.enabled === 1, enabled ?? schedule.enabled === 1]
  const enables = isEnabled && !wasEnabled
  const isTakenOver = enables || template !== undefined || Object.values(change).some(value => value !== undefined)
  const changed: ScheduleChange = {
    name: name ?? schedule.name,
    overlap,
    catchUp,
    enabled: isEnabled,
    ...timing,
    ...(isTakenOver && {
      ...(await makerFor(tx, caller)),
      template: await checkedTemplate(
        tx,
        agents,
        caller,
        ref.projectId,
        JSON.parse(schedule.template) as StoredTemplate,
        template,
      ),
    }),
    ...(isEnabled && { disabledReason: null }),
    ...(!isEnabled && { nextRunAt: null, waitingSince: null }),
  }
  if (isEnabled && (timing || enables)) changed.nextRunAt = nextAfter({ ...schedule, ...timing }, tx.now)
  await updateSchedule(tx, schedule.id, changed)
  return announce(tx, 'schedule.updated', ref)
}

/** Deletes a schedule; its cards stay. @throws Problem SCHEDULE_NOT_FOUND */
export async function remove(tx: Transaction, ref: ScheduleRef): Promise<void> {
  const { id } = await find(tx, ref)
  await deleteSchedule(tx, id)
  await appendEvent(tx, 'schedule.deleted', ref.projectId, { id: String(id) })
}

/**
 * Creates a schedule's next card now, with the caller's permissions, regardless of the state of the last card. This replaces a waiting run.
 * @throws Problem SCHEDULE_NOT_FOUND, COLUMN_NOT_FOUND, COLUMN_FULL without `force`, INSUFFICIENT_PERMISSIONS
 */
export async function runNow(
  tx: Transaction,
  agents: Agents,
  caller: Caller,
  { force, ...ref }: ScheduleRef & { force: boolean },
): Promise<CardRow> {
  requireMayCreate(caller)
  const schedule = await find(tx, ref)
  const card = await makeCard(tx, agents, schedule, { caller, at: tx.now, force })
  await change(tx, schedule, { waitingSince: null, lastRunAt: tx.now, lastCardId: card.id })
  return card
}

/**
 * Creates a card from a schedule's template. `at` is the time whose day is the run date.
 * @throws Problem as `cards.create`
 */
export async function makeCard(
  tx: Transaction,
  agents: Agents,
  { projectId, template, timeZone }: ScheduleRow,
  { caller, at, force }: { caller: Caller; at: string; force?: boolean },
): Promise<CardRow> {
  const { title, columnId, assigneeIds, ...card } = JSON.parse(template) as StoredTemplate
  // Accounts that have left the project are no longer assigned.
  const people = await listPeopleOf(tx, projectId, assigneeIds)
  return createCard(tx, agents, {
    ...card,
    projectId,
    caller,
    force,
    columnId: columnId ?? undefined,
    assigneeIds: assigneeIds.filter(id => people.some(({ userId }) => userId === id)),
    title: title.replaceAll(datePlaceholder, dayOf(at, timeZone)),
  })
}

/** Whether the column of a schedule's cards accepts another card. A deleted column is reported by the run. */
export async function hasRoomFor(db: Reader, { projectId, template }: ScheduleRow): Promise<boolean> {
  const { columnId } = JSON.parse(template) as StoredTemplate
  const column = await (columnId === null ? readDefaultColumn(db, projectId) : readColumn(db, columnId))
  return !column || hasRoom(db, column)
}

/** Changes the recorded state of a schedule's runs. */
export async function change(tx: Transaction, schedule: ScheduleRow, changed: ScheduleChange): Promise<ScheduleRow> {
  await updateSchedule(tx, schedule.id, changed)
  return announce(tx, 'schedule.updated', { projectId: schedule.projectId, scheduleId: schedule.id })
}

/** Disables a schedule on the server's own initiative. */
export const disable = (tx: Transaction, schedule: ScheduleRow, disabledReason: string): Promise<ScheduleRow> =>
  change(tx, schedule, { enabled: false, disabledReason, nextRunAt: null, waitingSince: null })

/** @throws Problem INSUFFICIENT_PERMISSIONS for a key that cannot create cards */
function requireMayCreate({ key }: Caller): void {
  if (key && !key.permissions.includes('cards.create'))
    throw new Problem(
      'INSUFFICIENT_PERMISSIONS',
      'The API key lacks the permission cards.create, which a run requires.',
    )
}

async function announce(
  tx: Transaction,
  event: 'schedule.created' | 'schedule.updated',
  ref: ScheduleRef,
): Promise<ScheduleRow> {
  const schedule = await find(tx, ref)
  await appendEvent(tx, event, ref.projectId, view(schedule))
  return schedule
}

/** A template without the fields that belong to the previous agent, as for a card. */
const withoutOtherAgents = (template: StoredTemplate, { agent }: Partial<StoredTemplate>): StoredTemplate =>
  agent === undefined || agent === template.agent ? template : { ...template, ...noChoice }

/** The fields with a value. */
const definedFields = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T

function newTiming({ cron, everySecs, timeZone = localTimeZone() }: GivenTiming, now: string): Timing {
  const timing = { cron: cron ?? null, everySecs: everySecs ?? null, timeZone, anchorAt: now }
  requireTiming(timing, now)
  return timing
}

/** The timing after a change. Undefined if it is unchanged. */
function changedTiming(
  schedule: ScheduleRow,
  { cron, everySecs, timeZone }: GivenTiming,
  now: string,
): Timing | undefined {
  if (cron === undefined && everySecs === undefined && timeZone === undefined) return undefined
  const { cron: oldCron, everySecs: oldEverySecs } = schedule
  const isInterval = everySecs !== undefined || (cron === undefined && oldEverySecs !== null)
  return newTiming(
    {
      cron: isInterval ? undefined : (cron ?? oldCron ?? undefined),
      everySecs: isInterval ? (everySecs ?? oldEverySecs ?? undefined) : undefined,
      timeZone: timeZone ?? schedule.timeZone,
    },
    now,
  )
}

/** The stored form of a template, once the caller is known to be able to create a card from it. */
async function checkedTemplate(
  tx: Transaction,
  agents: Agents,
  caller: Caller,
  projectId: number,
  before: StoredTemplate,
  change: Partial<StoredTemplate> = {},
): Promise<string> {
  requireMayCreate(caller)
  const template = { ...withoutOtherAgents(before, change), ...definedFields(change) }
  await assigneesFor(tx, { projectId }, change)
  const { columnId, autoMode } = template
  const refused = autoMode ? startRefusal(caller, 'kanban') : undefined
  if (refused) throw refused
  const column = columnId === null ? noChoice : await columnOfProject(tx, { projectId, caller }, columnId)
  const choice: Partial<AgentChoice> = Object.fromEntries(
    Object.keys(noChoice).map(field => [field, template[field as keyof AgentChoice]]),
  )
  await changedChoice(tx, agents, choice, async () => [
    { ...noChoice, agent: before.agent },
    column,
    ...(await projectLevels(tx, projectId)),
  ])
  return JSON.stringify(template)
}
