import { shownInterval } from '../../../src/boardModel/intervals.ts'
import { useLoad } from '../app/load.ts'
import { showMessage } from '../app/messages.ts'
import { hrefOf, navigate } from '../app/router.ts'
import { client } from '../app/session.ts'
import { ResourceSection, type ResourceRow } from '../ui/ResourceSection.tsx'
import { formatTime, Time, useNow } from '../ui/Time.tsx'
import type { Schedule } from './records.ts'
import { scheduleForm } from './scheduleForm.tsx'
import type { SectionProps } from './sectionProps.ts'
import { useProjectEvents } from '../app/useProjectEvents.ts'

/** The schedules, which create cards repeatedly. */
export function SchedulesSection({ project: { id: projectId }, mayWork }: SectionProps) {
  const list = useLoad(() => client.schedules.list({ projectId }), [projectId])
  useProjectEvents(projectId, list.reload, ({ type }) => type.startsWith('schedule.'))
  return (
    <ResourceSection
      of={list}
      label="Schedules"
      about="A schedule creates a card at set times, with the permissions of the person who created it."
      empty="No schedules. Add one for work that repeats, for example a weekly report."
      mayEdit={mayWork}
      row={schedule => rowOf(schedule, mayWork)}
      form={scheduleForm(projectId)}
    />
  )
}

function rowOf(schedule: Schedule, mayWork: boolean): ResourceRow {
  const { id: scheduleId, projectId, name, enabled, disabledReason, template, createdBy } = schedule
  const place = { projectId, scheduleId }
  const run = async () => {
    const { id: cardId, title } = await client.schedules.run(place)
    const open = () => navigate({ name: 'card', projectId, cardId })
    showMessage(`Added "${title}".`, { label: 'Open', run: open })
  }
  return {
    name,
    badges: [!enabled && 'off'],
    error: disabledReason && `Disabled: ${disabledReason}`,
    about: (
      <>
        {template.title}
        <Runs schedule={schedule} />
        {whenOf(schedule)}
        {createdBy && ` · permissions of ${createdBy.keyName ?? createdBy.displayName ?? 'a deleted account'}`}
      </>
    ),
    remove: mayWork && {
      text: 'The schedule creates no more cards. Existing cards remain.',
      run: () => client.schedules.delete(place),
    },
    actions: mayWork ? [{ label: 'Run now', run }] : [],
  }
}

const whenOf = ({ cron, everySecs, timeZone }: Schedule): string =>
  cron === null ? `every ${shownInterval(everySecs!)}` : `${cron}, time zone ${timeZone}`

/** Its next and its last run, in words. */
function Runs({ schedule }: { schedule: Schedule }) {
  const { projectId, nextRunAt, lastRunAt, lastCardId, waitingSince, skipped } = schedule
  const now = useNow()
  return (
    <div>
      {nextRunAt && (
        <>
          Next run <time dateTime={nextRunAt}>{formatTime(nextRunAt)}</time> ({inWords(Date.parse(nextRunAt) - now)})
        </>
      )}
      {waitingSince && `${nextRunAt ? ' · ' : ''}one run is waiting for the last card`}
      {lastRunAt && (
        <>
          {nextRunAt && ' · '}last run <Time at={lastRunAt} />
          {lastCardId && (
            <>
              {': '}
              <a href={hrefOf({ name: 'card', projectId, cardId: lastCardId })}>card {lastCardId}</a>
            </>
          )}
        </>
      )}
      {skipped > 0 && ` · ${skipped} skipped`}
    </div>
  )
}

/** How far away a time to come is. */
function inWords(ms: number): string {
  const minutes = Math.max(0, Math.round(ms / 60_000))
  if (minutes < 1) return 'now'
  if (minutes < 60) return `in ${minutes} min`
  return minutes < 48 * 60 ? `in ${Math.round(minutes / 60)} h` : `in ${Math.round(minutes / 1440)} d`
}
