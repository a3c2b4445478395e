import { useEffect, useState } from 'react'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Check, Choice, NumberInput, TextInput, type Fields } from '../ui/Inputs.tsx'
import type { ResourceForm } from '../ui/ResourceSection.tsx'
import type { Schedule } from './records.ts'
import { initialTemplate, TemplateFields, templateOf } from './ScheduleTemplate.tsx'

const previewMs = 400
const kinds = [
  ['cron', 'At set times'],
  ['interval', 'At an interval'],
] as const
const units = [
  ['60', 'minutes'],
  ['3600', 'hours'],
  ['86400', 'days'],
] as const
const overlaps = [
  ['skip', 'Skip the run'],
  ['queue', 'Queue one run'],
  ['add', 'Create another card'],
] as const
const catchUps = [
  ['none', 'No run'],
  ['one', 'One run'],
] as const

/** The timing fields of a schedule form. */
interface When {
  kind: 'cron' | 'interval'
  cron: string
  count: number
  unit: string
  timeZone: string
}
const timingOf = ({ kind, cron, count, unit, timeZone }: When) => ({
  ...(kind === 'cron' ? { cron } : { everySecs: count * Number(unit) }),
  timeZone,
})

/** The form that creates or edits a schedule. */
export const scheduleForm = (projectId: string): ResourceForm<Schedule, Values> => ({
  noun: 'schedule',
  isWide: true,
  editTitle: () => 'Edit schedule',
  initial,
  save: async (values, schedule) => {
    const { name, overlap, catchUp, enabled } = values
    const fields = { projectId, name, overlap, catchUp, enabled, template: templateOf(values) }
    if (schedule) {
      const timing = isSame(values, initial(schedule)) ? {} : timingOf(values)
      await client.schedules.update({ ...fields, scheduleId: schedule.id, ...timing })
    } else await client.schedules.create({ ...fields, ...timingOf(values) })
    showMessage('Saved the schedule.')
  },
  fields: ({ values, bind }) => (
    <>
      <TextInput label="Name" required maxLength={200} {...bind('name')} />
      <Timing values={values} bind={bind} projectId={projectId} />
      <TemplateFields projectId={projectId} bind={bind} />
      <Choice label="While the last card is open" options={overlaps} {...bind('overlap')} />
      <Choice label="After server downtime" options={catchUps} {...bind('catchUp')} />
      <Check label="Enabled" {...bind('enabled')} />
    </>
  ),
})

function initial(schedule: Schedule | undefined) {
  const secs = schedule?.everySecs ?? 86_400
  const [unit] = units.findLast(([length]) => secs % Number(length) === 0) ?? units[0]
  return {
    name: schedule?.name ?? '',
    kind: (schedule?.everySecs ? 'interval' : 'cron') as When['kind'],
    cron: schedule?.cron ?? '0 9 * * 1-5',
    count: secs / Number(unit),
    unit: unit as string,
    timeZone: schedule?.timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...initialTemplate(schedule?.template),
    overlap: schedule?.overlap ?? 'skip',
    catchUp: schedule?.catchUp ?? 'none',
    enabled: schedule?.enabled ?? true,
  }
}

type Values = ReturnType<typeof initial>
const isSame = (a: When, b: When): boolean => JSON.stringify(timingOf(a)) === JSON.stringify(timingOf(b))

function Timing({ values, bind, projectId }: Pick<Fields<Values>, 'values' | 'bind'> & { projectId: string }) {
  return (
    <>
      <Choice label="When" options={kinds} {...bind('kind')} />
      {values.kind === 'cron' ? (
        <>
          <TextInput
            label="Cron expression"
            required
            hint="Minute, hour, day of the month, month, day of the week. 0 9 * * 1-5 is Monday to Friday at 9:00."
            {...bind('cron')}
          />
          <TextInput label="Time zone" required {...bind('timeZone')} />
        </>
      ) : (
        <>
          <NumberInput label="Every" min={1} max={527_040} {...bind('count')} field="everySecs" />
          <Choice label="Unit" options={units} {...bind('unit')} />
        </>
      )}
      <Preview projectId={projectId} when={values} />
    </>
  )
}

/** The next run of the schedule, shown after the person has stopped typing. */
function Preview({ projectId, when }: { projectId: string; when: When }) {
  const [shown, setShown] = useState('')
  const asked = JSON.stringify(timingOf(when))
  useEffect(() => {
    let isOver = false
    const ask = async () => {
      const { nextRuns, timeZone } = await client.schedules.preview({ projectId, ...JSON.parse(asked) })
      return `Next: ${nextRuns.map(at => shownIn(at, timeZone)).join('; ')}`
    }
    const timer = setTimeout(() => {
      void ask()
        .catch((error: Error) => error.message)
        .then(text => isOver || setShown(text))
    }, previewMs)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [projectId, asked])
  return (
    <p className="hint" role="status">
      {shown}
    </p>
  )
}

/** A time by the clock of the schedule. */
const shownIn = (at: string, timeZone: string): string =>
  new Intl.DateTimeFormat(undefined, {
    timeZone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: 'numeric',
    minute: '2-digit',
  }).format(new Date(at))
