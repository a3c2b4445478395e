import type { InferOutput } from 'valibot'
import { Schedule, scheduleLimits } from '../contract/automation/schedules.ts'
import { nextTimes } from '../recurrence/recurrence.ts'
import { scheduleFields, type ScheduleRow, type StoredTemplate } from '../store/automation/schedules.ts'
import { maker } from './makers.ts'
import { viewOf } from './view.ts'

/** A project's schedule with its next runs. */
export const schedule: (row: ScheduleRow) => InferOutput<typeof Schedule> = viewOf(
  scheduleFields,
  Schedule,
  'text',
  (row: ScheduleRow) => ({
    template: templateOf(row),
    nextRuns:
      row.nextRunAt === null ? [] : [row.nextRunAt, ...nextTimes(row, row.nextRunAt, scheduleLimits.nextRuns - 1)],
    createdBy: maker(row),
  }),
)

const templateOf = ({ template }: ScheduleRow): InferOutput<typeof Schedule>['template'] => {
  const { columnId, assigneeIds, ...stored } = JSON.parse(template) as StoredTemplate
  return {
    ...stored,
    columnId: columnId === null ? null : String(columnId),
    assigneeIds: assigneeIds.map(String),
  }
}
