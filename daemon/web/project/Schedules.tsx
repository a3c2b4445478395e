import { useEffect } from 'react'
import { shownInterval } from '../../../src/boardModel/intervals.ts'
import { followProject } from '../app/live.ts'
import { showMessage } from '../app/messages.ts'
import { hrefOf, navigate } from '../app/router.ts'
import { client } from '../app/session.ts'
import { useLoad, type Loaded } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Rows, useEditing } from '../ui/Rows.tsx'
import { formatTime, Time, useNow } from '../ui/Time.tsx'
import type { Schedule } from './records.ts'
import type { SectionProps } from './sectionProps.ts'
import { ScheduleForm } from './ScheduleForm.tsx'

/** The schedules, which create cards repeatedly. */
export function SchedulesSection(props: SectionProps) {
  const { project, mayWork } = props
  const list = useLoad(() => client.schedules.list({ projectId: project.id }), [project.id])
  useEvents(project.id, list)
  const editing = useEditing<Schedule>(list)
  return (
    <>
      <p>A schedule creates a card at set times, with the permissions of the person who created it.</p>
      {mayWork && (
        <div className="tools">
          <Button isMain icon="add" onClick={editing.add}>
            New schedule
          </Button>
        </div>
      )}
      <Rows of={list} label="Schedules" empty="No schedules.">
        {schedule => (
          <ScheduleRow {...props} schedule={schedule} reload={list.reload} onEdit={() => editing.edit(schedule)} />
        )}
      </Rows>
      {editing.isOpen && <ScheduleForm project={project} {...editing.dialog} schedule={editing.edited} />}
    </>
  )
}

function useEvents(projectId: string, { reload }: Loaded<Schedule[]>): void {
  useEffect(
    () =>
      followProject(
        projectId,
        events => {
          if (events.some(({ type }) => type === 'resync' || type.startsWith('schedule.'))) void reload()
        },
        () => void reload(),
      ),
    [projectId, reload],
  )
}

interface RowProps extends SectionProps {
  schedule: Schedule
  reload: () => Promise<void>
  onEdit: () => void
}

function ScheduleRow({ project, mayWork, schedule, reload, onEdit }: RowProps) {
  const { name, enabled, disabledReason, template, createdBy } = schedule
  const place = { projectId: project.id, scheduleId: schedule.id }
  const run = async () => {
    const { id: cardId, title } = await client.schedules.run(place)
    await reload()
    const open = () => navigate({ name: 'card', projectId: project.id, cardId })
    showMessage(`Added "${title}".`, { label: 'Open', run: open })
  }
  const remove = () =>
    confirm({
      title: `Delete ${name}`,
      text: 'The schedule creates no more cards. Existing cards remain.',
      submit: 'Delete',
      run: async () => {
        await client.schedules.delete(place)
        await reload()
      },
    })
  return (
    <>
      <div className="what">
        <strong>{name}</strong> {!enabled && <span className="label">off</span>}
        <div>{template.title}</div>
        {disabledReason && <div className="error">Disabled: {disabledReason}</div>}
        <Runs schedule={schedule} />
        <div className="dim">
          {whenOf(schedule)}
          {createdBy && ` · permissions of ${createdBy.keyName ?? createdBy.displayName ?? 'a deleted account'}`}
        </div>
      </div>
      {mayWork && (
        <div className="tools">
          <Button icon="run" onClick={run} aria-label={`Run now: ${name}`}>
            Run now
          </Button>
          <Button onClick={onEdit} aria-label={`Edit ${name}`}>
            Edit
          </Button>
          <Button isDanger onClick={remove} aria-label={`Delete ${name}`}>
            Delete
          </Button>
        </div>
      )}
    </>
  )
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
