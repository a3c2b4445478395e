import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { shownInterval } from '../../src/boardModel/intervals.ts'
import type { Column, Out } from '../output/output.ts'

export type Schedule = Output<Contract['schedules']['list']>[number]

const whenOf = ({ cron, everySecs, timeZone }: Schedule): string =>
  cron === null ? `every ${shownInterval(everySecs!)}` : `${cron} (${timeZone})`
const stateOf = ({ enabled, disabledReason, waitingSince }: Schedule): string =>
  !enabled ? `off${disabledReason === null ? '' : `: ${disabledReason}`}` : waitingSince === null ? 'on' : 'a run waits'

/** The fields of a schedule in lists. */
export const scheduleColumns: Column<Schedule>[] = [
  { name: 'id', style: 'id', align: 'right', value: schedule => schedule.id },
  { name: 'name', style: 'title', value: schedule => schedule.name },
  { name: 'when', value: whenOf },
  { name: 'nextRunAt', header: 'NEXT', style: 'time', value: schedule => schedule.nextRunAt },
  { name: 'lastRunAt', header: 'LAST', style: 'time', value: schedule => schedule.lastRunAt },
  { name: 'lastCardId', header: 'CARD', align: 'right', value: schedule => schedule.lastCardId },
  { name: 'state', style: 'text', value: stateOf },
]

/** The fields of a schedule on its own. Its next runs are shown in its time zone on a terminal, and as ISO times in a pipe. */
export const scheduleFields = ({ terminal }: Out): Column<Schedule>[] => [
  { name: 'id', style: 'id', value: schedule => schedule.id },
  { name: 'name', style: 'title', value: schedule => schedule.name },
  { name: 'when', value: whenOf },
  { name: 'state', style: 'text', value: stateOf },
  {
    name: 'nextRuns',
    header: 'Next runs',
    style: 'text',
    value: ({ nextRuns, timeZone }) => (terminal.stdout ? nextRuns.map(at => shownIn(at, timeZone)) : nextRuns),
  },
  { name: 'lastRunAt', header: 'Last run', style: 'time', value: schedule => schedule.lastRunAt },
  { name: 'lastCardId', header: 'Last card', value: schedule => schedule.lastCardId },
  { name: 'skipped', header: 'Skipped', value: schedule => schedule.skipped || undefined },
  { name: 'overlap', value: schedule => schedule.overlap },
  { name: 'catchUp', header: 'Catch up', value: schedule => schedule.catchUp },
  { name: 'title', style: 'text', value: ({ template }) => template.title },
  { name: 'columnId', header: 'Column', value: ({ template }) => template.columnId },
  { name: 'labels', value: ({ template }) => template.labels },
  { name: 'agent', value: ({ template }) => template.agent },
  { name: 'createdBy', header: 'Runs as', style: 'text', value: makerOf },
]

/** The person or key whose permissions the runs have. A deleted person or key is shown by its ID. */
function makerOf({ createdBy }: Schedule): string | null {
  if (createdBy === null) return null
  const { userId, displayName, keyId, keyName } = createdBy
  return (displayName ?? `user ${userId}`) + (keyId === null ? '' : `, key ${keyName ?? keyId}`)
}

/** Future times in a time zone. */
export const nextRunsOf = ({ terminal }: Out, timeZone: string): Column<{ at: string }>[] => [
  { name: 'at', style: 'text', value: ({ at }) => (terminal.stdout ? shownIn(at, timeZone) : at) },
]

/** A time in a time zone: `Mon 2026-11-23 09:00`. */
function shownIn(at: string, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  const part = Object.fromEntries(format.formatToParts(new Date(at)).map(({ type, value }) => [type, value]))
  return `${part.weekday!.replace('.', '')} ${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}`
}
