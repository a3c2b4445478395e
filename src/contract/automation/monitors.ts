import * as v from 'valibot'
import { Count, Id, Time } from '../fields.ts'
import { ofCard, ofProject } from '../notFound.ts'
import { agentOf, del, get, member, post, viewer } from '../route.ts'

/** A monitor's limits (specification "Limits"). `maxConcurrent` is the maximum number of concurrent runs on one server. */
export const monitorLimits = {
  minIntervalSecs: 10,
  maxIntervalSecs: 86_400,
  maxCommandLength: 4096,
  maxDescriptionLength: 500,
  maxPerCard: 8,
  maxConcurrent: 8,
  maxOutputBytes: 4096,
} as const

/** rejected: a user did not allow the monitor, and it never runs. */
export const MonitorStatus = v.picklist([
  'pending',
  'running',
  'ok',
  'failing',
  'error',
  'timeout',
  'paused',
  'rejected',
])
export type MonitorStatus = v.InferOutput<typeof MonitorStatus>
/** `output` is the last 4 KiB of the latest run; `error` explains why a run could not be started or was ended. */
export const Monitor = v.object({
  id: Id,
  cardId: Id,
  command: v.string(),
  intervalSecs: Count,
  description: v.nullable(v.string()),
  cwd: v.string(),
  allowUnsandboxed: v.boolean(),
  status: MonitorStatus,
  /**
   * The ID of the open question that asks whether the monitor can run, for plan-approve. Until the answer, the monitor stays pending. Null
   * if no question is open.
   */
  requestId: v.nullable(v.string()),
  exitCode: v.nullable(v.number()),
  error: v.nullable(v.string()),
  output: v.string(),
  lastStartedAt: v.nullable(Time),
  lastFinishedAt: v.nullable(Time),
  nextRunAt: v.nullable(Time),
  consecutiveFailures: Count,
  createdAt: Time,
  updatedAt: Time,
})
const requestPrefix = 'monitor-'
/** The ID of the question that asks whether a monitor can run. */
export const monitorRequestId = (id: number): string => `${requestPrefix}${id}`
/**
 * Whether a question is about a monitor. The agent does not wait for the answer, and the question stays open after the end of the session.
 */
export const isMonitorRequest = (requestId: string): boolean => requestId.startsWith(requestPrefix)

/**
 * The fields of a new monitor. Each rule has its own error code, which is checked after the card's state, so the domain checks
 * the rules instead of the schema.
 */
const CreateMonitor = v.strictObject({
  command: v.pipe(v.string(), v.minLength(1), v.maxLength(monitorLimits.maxCommandLength)),
  intervalSecs: v.pipe(
    v.number(),
    v.integer(),
    v.minValue(monitorLimits.minIntervalSecs),
    v.maxValue(monitorLimits.maxIntervalSecs),
  ),
  description: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(monitorLimits.maxDescriptionLength)))),
  cwd: v.optional(v.nullable(v.string())),
  allowUnsandboxed: v.literal(true),
})

export const monitors = {
  create: post('/api/projects/{projectId}/cards/{cardId}/monitors', {
    fails: [
      'MONITOR_COMMAND_INVALID',
      'MONITOR_CWD_INVALID',
      'MONITOR_CWD_OUTSIDE_CARD',
      'MONITOR_DESCRIPTION_INVALID',
      'MONITOR_INTERVAL_INVALID',
      'MONITOR_UNSANDBOXED_ACK_REQUIRED',
      'MONITOR_CARD_INACTIVE',
      'MONITOR_LIMIT_REACHED',
      'MONITOR_TERMINAL_CARD_UNSUPPORTED',
    ],
    notFound: ofCard,
    audited: { target: 'monitor', id: 'id' },
    at: 'machine',
    who: agentOf('cardId'),
    summary: 'Create a monitor that runs a command on a schedule while the card is active',
    details: "For a sandboxed agent, a user or the project's sandbox settings must allow the monitor.",
    input: CreateMonitor,
    checkedBy: 'rules',
    output: Monitor,
    idempotent: true,
    status: 201,
    emits: ['monitor.created'],
  }),
  list: get('/api/projects/{projectId}/cards/{cardId}/monitors', {
    notFound: ofCard,
    who: agentOf('cardId'),
    summary: "List a card's monitors in order of creation",
    output: v.array(Monitor),
  }),
  delete: del('/api/projects/{projectId}/cards/{cardId}/monitors/{monitorId}', {
    notFound: { ...ofCard, monitorId: 'MONITOR_NOT_FOUND' },
    audited: { target: 'monitor' },
    who: agentOf('cardId'),
    summary: 'Delete a monitor',
    details: 'Its running command and all processes of the command are stopped.',
    emits: ['monitor.deleted'],
  }),
  listProject: get('/api/projects/{projectId}/monitors', {
    notFound: ofProject,
    who: viewer('monitors.read'),
    summary: 'List the monitors of all cards of a project',
    output: v.array(Monitor),
  }),
  deleteProject: del('/api/projects/{projectId}/monitors/{monitorId}', {
    notFound: { ...ofProject, monitorId: 'MONITOR_NOT_FOUND' },
    audited: { target: 'monitor' },
    who: member(),
    summary: 'Delete a monitor of any card in a project',
    emits: ['monitor.deleted'],
  }),
}
