import type { InferOutput } from 'valibot'
import { Problem } from '../contract/errors.ts'
import { requireTiming } from '../recurrence/recurrence.ts'
import { exportedSchedules } from '../store/projects/exports.ts'
import { insertSchedule } from '../store/automation/schedules.ts'
import { part, readByProject } from './part.ts'
import type { RecordIndex } from './recordIndex.ts'
import { Schedule } from './records.ts'

type ScheduleRecord = InferOutput<typeof Schedule>

/** The schedules of projects, which are imported disabled, because an import must not run anything automatically. */
export const schedules = part({
  name: 'schedules',
  schema: Schedule,
  maxRecords: 100_000,
  read: readByProject(exportedSchedules),
  check: checkSchedule,
  write: async (tx, { projectId, template, ...record }, made) => {
    const columnId = template.columnId === null ? null : made.rows.columns.get(template.columnId)!.id
    await insertSchedule(tx, {
      ...record,
      projectId: made.rows.projects.get(projectId)!.id,
      template: JSON.stringify({ ...template, columnId, assigneeIds: [] }),
      anchorAt: tx.now,
      enabled: false,
      disabledReason: 'The schedule was imported. Enable it to take it over.',
    })
  },
})

function checkSchedule({ projectId, template, ...timing }: ScheduleRecord, known: RecordIndex): void {
  known.find('projects', projectId, 'projectId')
  if (template.columnId !== null) known.find('columns', template.columnId, 'template.columnId')
  if ((timing.cron === null) === (timing.everySecs === null))
    return known.addError('cron', 'or everySecs is required, but not both')
  try {
    requireTiming({ ...timing, anchorAt: '' }, new Date().toISOString())
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    known.addError('cron', error.details![0]!.message)
  }
}
