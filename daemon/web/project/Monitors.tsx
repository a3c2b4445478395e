import { useEffect, useRef } from 'react'
import { createClient } from '../../../src/client/index.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { EventData } from '../../../src/contract/server/events.ts'
import type { Output } from '../../../src/contract/route.ts'
import { followProject } from '../app/live.ts'
import { hrefOf } from '../app/router.ts'
import { client, liveConnection } from '../app/session.ts'
import { useLoad, type Loaded } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Form } from '../ui/Form.tsx'
import { Check, Choice, NumberInput, TextInput, useFields } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { Rows, useEditing, type EditProps } from '../ui/Rows.tsx'
import { plainText } from '../ui/plainText.ts'
import { Time } from '../ui/Time.tsx'
import type { SectionProps } from './sectionProps.ts'

type Monitor = Output<Contract['monitors']['listProject']>[number]
type Card = Output<Contract['cards']['list']>[number]

const statusClass: Record<Monitor['status'], string> = {
  pending: 'queued',
  running: 'running',
  ok: 'completed',
  failing: 'failed',
  error: 'failed',
  timeout: 'failed',
  paused: 'idle',
  rejected: 'cancelled',
}

/** Commands that run on a schedule while the agents of cards work. */
export function MonitorsSection(props: SectionProps) {
  const { project, mayWork } = props
  const list = useLoad(() => client.monitors.listProject({ projectId: project.id }), [project.id])
  useEvents(project.id, list)
  const editing = useEditing<Monitor>(list)
  return (
    <>
      <p>
        A monitor runs a command while its card is active, and notifies the agent when the command fails. The monitor is
        paused while the card is outside of active columns.
      </p>
      {mayWork && (
        <div className="tools">
          <Button isMain icon="add" onClick={editing.add}>
            New monitor
          </Button>
        </div>
      )}
      <Rows of={list} label="Monitors" empty="No monitors.">
        {monitor => <MonitorRow {...props} monitor={monitor} reload={list.reload} />}
      </Rows>
      {editing.isOpen && <Add {...props} {...editing.dialog} />}
    </>
  )
}

function useEvents(projectId: string, list: Loaded<Monitor[]>): void {
  const { reload, set } = list
  const latest = useRef(list.value)
  latest.current = list.value
  useEffect(
    () =>
      followProject(
        projectId,
        events => {
          if (events.some(({ type }) => type === 'resync' || type === 'monitor.created' || type === 'monitor.deleted'))
            return void reload()
          const changed = new Map(
            events
              .filter(({ type }) => type === 'monitor.updated')
              .map(({ data }) => data as EventData<'monitor.updated'>)
              .map(monitor => [monitor.id, monitor]),
          )
          if (changed.size === 0 || !latest.current) return
          latest.current = latest.current.map(monitor => changed.get(monitor.id) ?? monitor)
          set(latest.current)
        },
        () => void reload(),
      ),
    [projectId, reload, set],
  )
}

function MonitorRow({
  project,
  mayWork,
  monitor,
  reload,
}: SectionProps & { monitor: Monitor; reload: () => Promise<void> }) {
  const { command, description, intervalSecs, status, exitCode, error, output, cardId } = monitor
  const remove = () =>
    confirm({
      title: 'Remove monitor',
      text: `${command} no longer runs. If the command is running now, all of its processes are stopped.`,
      submit: 'Remove',
      run: async () => {
        await client.monitors.deleteProject({ projectId: project.id, monitorId: monitor.id })
        await reload()
      },
    })
  return (
    <>
      <div className="what">
        {monitor.requestId === null ? (
          <span className={`status ${statusClass[status]}`}>{status}</span>
        ) : (
          <span className="status waiting">waiting for approval</span>
        )}{' '}
        <code>{command}</code>
        {description && <div>{description}</div>}
        <div className="dim">
          every {intervalSecs} s in <code>{monitor.cwd}</code> ·{' '}
          <a href={hrefOf({ name: 'card', projectId: project.id, cardId })}>card {cardId}</a>
          {monitor.lastFinishedAt && (
            <>
              {' '}
              · last run <Time at={monitor.lastFinishedAt} />
            </>
          )}
          {exitCode !== null && ` · exit code ${exitCode}`}
          {monitor.consecutiveFailures > 1 && ` · ${monitor.consecutiveFailures} failures in a row`}
        </div>
        {error && <div className="error">{error}</div>}
        {output !== '' && (
          <details>
            <summary>Latest output</summary>
            <pre className="printed" tabIndex={0}>
              {plainText(output)}
            </pre>
          </details>
        )}
      </div>
      {mayWork && (
        <Button isDanger onClick={remove} aria-label={`Remove the monitor ${command}`}>
          Remove
        </Button>
      )}
    </>
  )
}

/** Returns the cards in active columns, because each monitor belongs to one of them. */
async function activeCards(projectId: string): Promise<Card[]> {
  const columns = await client.columns.list({ projectId })
  const active = columns.filter(({ columnType }) => columnType === 'active')
  const lists = await Promise.all(
    active.map(({ id }) => client.cards.list({ projectId, columnId: Number(id), limit: 200 })),
  )
  return lists.flat().filter(({ kind }) => kind === 'kanban')
}

function Add({ project, ...dialog }: SectionProps & EditProps) {
  const cards = useLoad(() => activeCards(project.id), [project.id])
  return (
    <Dialog title="New monitor" onClose={dialog.onClose}>
      <Await of={cards}>
        {some =>
          some.length === 0 ? (
            <p>No card is active. Move a card to an active column first.</p>
          ) : (
            <AddTo projectId={project.id} cards={some} {...dialog} />
          )
        }
      </Await>
    </Dialog>
  )
}

function AddTo({ projectId, cards, onClose, onSaved }: EditProps & { projectId: string; cards: readonly Card[] }) {
  const { values, bind } = useFields({
    cardId: cards[0]!.id,
    command: '',
    intervalSecs: 60,
    description: '',
    cwd: '',
    isAllowed: false,
  })
  const add = async () => {
    const { cardId, command, intervalSecs, description, cwd, isAllowed } = values
    if (!isAllowed) throw new Error('To add the monitor, allow the command to run without a sandbox.')
    // Monitors belong to agents: creating one requires a token of the card's agent.
    const { token } = await client.agents.token({ projectId, cardId, ttlSecs: 60 })
    await createClient({ url: liveConnection.url, token }).monitors.create({
      projectId,
      cardId,
      command,
      intervalSecs,
      description: description || null,
      cwd: cwd || null,
      allowUnsandboxed: true,
    })
    await onSaved()
  }
  return (
    <Form submit="Add monitor" onSubmit={add} onCancel={onClose}>
      <Choice isSearched label="Card" options={cards.map(({ id, title }) => [id, title])} {...bind('cardId')} />
      <TextInput label="Command" required maxLength={4096} spellCheck={false} {...bind('command')} />
      <NumberInput label="Interval in seconds" min={10} max={86_400} {...bind('intervalSecs')} />
      <TextInput label="Description" maxLength={500} {...bind('description')} />
      <TextInput
        label="Folder"
        hint="Relative to the card's working folder. Empty: that folder."
        spellCheck={false}
        {...bind('cwd')}
      />
      <Check
        label="Run without a sandbox"
        hint="The command runs with the server's permissions. It can read, change and send all data that the server can access."
        {...bind('isAllowed')}
        field="allowUnsandboxed"
      />
    </Form>
  )
}
