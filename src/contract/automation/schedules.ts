import * as v from 'valibot'
import { AgentChoice, ChangedAgentChoice } from '../agents/agentChoice.ts'
import { CardPlan, Priority } from '../cards/cardPlan.ts'
import { Forced } from '../cards/cardOrder.ts'
import { CardDetail } from '../cards/cardRecords.ts'
import {
  AccountId,
  Count,
  Id,
  integer,
  Labels,
  Name,
  Prompt,
  queryInteger,
  refTo,
  text,
  Time,
  Title,
} from '../fields.ts'
import { Maker } from '../makers.ts'
import { ofProject } from '../notFound.ts'
import { del, get, member, patch, post, viewer } from '../route.ts'

/** The limits of schedules. A run that is late by more than `onTimeSecs` was missed. */
export const scheduleLimits = {
  minEverySecs: 60,
  maxEverySecs: 366 * 86_400,
  maxPerProject: 100,
  onTimeSecs: 60,
  nextRuns: 3,
} as const

/** Placeholder for the run date in a template title. */
export const datePlaceholder = '{date}'

const isTimeZone = (name: string): boolean => {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions()
    // An offset is not a zone, because it has no daylight saving time.
    return /^[A-Za-z]/.test(timeZone)
  } catch {
    return false
  }
}
export const TimeZone = v.pipe(text(1, 100), v.check(isTimeZone, 'must be a time zone such as Europe/Berlin or UTC'))
const Cron = v.pipe(
  text(1, 200),
  v.transform(expression => expression.trim().replace(/\s+/g, ' ')),
  v.check(
    expression => expression.split(' ').length === 5,
    'must have five fields: minute, hour, day of the month, month, day of the week',
  ),
)
const { minEverySecs, maxEverySecs } = scheduleLimits
const EverySecs = integer(minEverySecs, maxEverySecs)
const TemplateTitle = v.pipe(
  Title,
  v.check(
    title => title.replaceAll(datePlaceholder, '0000-00-00').length <= 500,
    'must have at most 500 characters with its date',
  ),
)

/** The template for the cards of a schedule. Without a column, cards are created in the first one of the default board. */
const Template = v.strictObject({
  title: TemplateTitle,
  prompt: v.optional(Prompt, ''),
  labels: v.optional(Labels, []),
  columnId: v.optional(v.nullable(refTo('COLUMN_NOT_FOUND')), null),
  useWorktree: v.optional(v.boolean(), true),
  autoMode: v.optional(v.boolean(), false),
  ...ChangedAgentChoice.entries,
  assigneeIds: CardPlan.assigneeIds,
  priority: CardPlan.priority,
})
export const ShownTemplate = v.object({
  title: v.string(),
  prompt: v.string(),
  labels: v.array(v.string()),
  columnId: v.nullable(Id),
  useWorktree: v.boolean(),
  autoMode: v.boolean(),
  ...AgentChoice.entries,
  assigneeIds: v.array(AccountId),
  priority: Priority,
})
export const Overlap = v.picklist(['skip', 'queue', 'add'], 'must be skip, queue or add')
export const CatchUp = v.picklist(['none', 'one'], 'must be none or one')

/**
 * A schedule that creates cards automatically. `waitingSince` is the due time of a run that waits for the last card, or for
 * capacity in its column; `skipped` counts the runs that were skipped for either reason.
 */
export const Schedule = v.object({
  id: Id,
  projectId: Id,
  name: v.string(),
  cron: v.nullable(v.string()),
  everySecs: v.nullable(Count),
  timeZone: v.string(),
  template: ShownTemplate,
  overlap: Overlap,
  catchUp: CatchUp,
  enabled: v.boolean(),
  disabledReason: v.nullable(v.string()),
  nextRunAt: v.nullable(Time),
  /** The next runs, including `nextRunAt`. */
  nextRuns: v.array(Time),
  waitingSince: v.nullable(Time),
  lastRunAt: v.nullable(Time),
  lastCardId: v.nullable(Id),
  skipped: Count,
  createdBy: v.nullable(Maker),
  createdAt: Time,
  updatedAt: Time,
})

const Timing = { cron: v.optional(Cron), everySecs: v.optional(EverySecs), timeZone: v.optional(TimeZone) }
const CreateSchedule = v.pipe(
  v.strictObject({
    name: Name,
    ...Timing,
    template: Template,
    overlap: v.optional(Overlap, 'skip'),
    catchUp: v.optional(CatchUp, 'none'),
    enabled: v.optional(v.boolean(), true),
  }),
  v.forward(
    v.check(
      ({ cron, everySecs }) => (cron === undefined) !== (everySecs === undefined),
      'or everySecs is required, but not both',
    ),
    ['cron'],
  ),
)
/** A cron expression replaces an interval, and an interval an expression. Omitted fields of a template are unchanged. */
const UpdateSchedule = v.pipe(
  v.strictObject({
    name: v.optional(Name),
    ...Timing,
    template: v.optional(
      v.strictObject({
        title: v.optional(TemplateTitle),
        prompt: v.optional(Prompt),
        labels: v.optional(Labels),
        columnId: v.optional(v.nullable(refTo('COLUMN_NOT_FOUND'))),
        useWorktree: v.optional(v.boolean()),
        autoMode: v.optional(v.boolean()),
        ...ChangedAgentChoice.entries,
        assigneeIds: CardPlan.assigneeIds,
        priority: CardPlan.priority,
      }),
    ),
    overlap: v.optional(Overlap),
    catchUp: v.optional(CatchUp),
    enabled: v.optional(v.boolean()),
  }),
  v.forward(
    v.check(
      ({ cron, everySecs }) => cron === undefined || everySecs === undefined,
      'cannot be combined with everySecs',
    ),
    ['cron'],
  ),
)
const Preview = v.strictObject({
  cron: v.optional(Cron),
  everySecs: v.optional(queryInteger(minEverySecs, maxEverySecs)),
  timeZone: v.optional(TimeZone),
})
const ofSchedule = { ...ofProject, scheduleId: 'SCHEDULE_NOT_FOUND' } as const

export const schedules = {
  list: get('/api/projects/{projectId}/schedules', {
    notFound: ofProject,
    who: viewer('cards.read'),
    tool: { name: 'list_schedules', title: 'List schedules', group: 'find', does: 'reads' },
    summary: "List a project's schedules",
    output: v.array(Schedule),
  }),
  preview: get('/api/projects/{projectId}/schedules/preview', {
    notFound: ofProject,
    who: viewer('cards.read'),
    summary: 'Preview the next run times of a cron expression or an interval',
    input: Preview,
    output: v.object({ timeZone: v.string(), nextRuns: v.array(Time) }),
  }),
  create: post('/api/projects/{projectId}/schedules', {
    fails: ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
    notFound: ofProject,
    audited: { target: 'schedule', id: 'id' },
    who: member('schedules.write'),
    summary: 'Create a schedule that creates cards by a cron expression in a time zone, or every N seconds',
    input: CreateSchedule,
    output: Schedule,
    idempotent: true,
    status: 201,
    emits: ['schedule.created'],
  }),
  update: patch('/api/projects/{projectId}/schedules/{scheduleId}', {
    fails: ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
    notFound: ofSchedule,
    audited: { target: 'schedule', detail: ['enabled'] },
    who: member('schedules.write'),
    summary: 'Update a schedule',
    details: "If fields other than the name change, the caller becomes the schedule's owner.",
    input: UpdateSchedule,
    output: Schedule,
    emits: ['schedule.updated'],
  }),
  delete: del('/api/projects/{projectId}/schedules/{scheduleId}', {
    notFound: ofSchedule,
    audited: { target: 'schedule' },
    who: member('schedules.write'),
    summary: 'Delete a schedule',
    details: 'Its cards remain.',
    emits: ['schedule.deleted'],
  }),
  run: post('/api/projects/{projectId}/schedules/{scheduleId}/run', {
    fails: ['COLUMN_NOT_FOUND', 'COLUMN_FULL'],
    notFound: ofSchedule,
    audited: { target: 'schedule', detail: ['cardId=id'] },
    at: 'machine or here',
    who: member('schedules.write'),
    summary: "Run a schedule now, with the caller's rights",
    details: 'Use force to create the card in a full column.',
    input: Forced,
    output: CardDetail,
    idempotent: true,
    status: 201,
    emits: ['card.created', 'schedule.updated'],
  }),
}
