import { createClient } from '../../../src/client/index.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { hrefOf } from '../app/router.ts'
import { client, liveConnection } from '../app/session.ts'
import { Check, Choice, NumberInput, TextInput, type Fields } from '../ui/Inputs.tsx'
import { plainText } from '../ui/plainText.ts'
import { ResourceSection, type ResourceForm, type ResourceRow } from '../ui/ResourceSection.tsx'
import { Time } from '../ui/Time.tsx'
import type { SectionProps } from './sectionProps.ts'
import { useProjectEvents } from '../app/useProjectEvents.ts'

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
export function MonitorsSection({ project: { id: projectId }, mayWork }: SectionProps) {
  const list = useLoad(() => client.monitors.listProject({ projectId }), [projectId])
  useProjectEvents(projectId, list.reload, ({ type }) => type.startsWith('monitor.'))
  return (
    <ResourceSection
      of={list}
      label="Monitors"
      about="A monitor runs a command while its card is in an active column, and notifies the agent when the command fails."
      empty="No monitors. Agents add them, and you can add one for a card that an agent works on."
      mayEdit={mayWork}
      row={monitor => rowOf(monitor, projectId, mayWork)}
      form={formOf(projectId)}
    />
  )
}

function rowOf(monitor: Monitor, projectId: string, mayWork: boolean): ResourceRow {
  const { id: monitorId, command, description, intervalSecs, status, exitCode, error, output, cardId } = monitor
  const { requestId, cwd, lastFinishedAt, consecutiveFailures } = monitor
  return {
    name: command,
    title: <code>{command}</code>,
    isEditable: false,
    status: (
      <span className={`status ${requestId === null ? statusClass[status] : 'waiting'}`}>
        {requestId === null ? status : 'waiting for approval'}
      </span>
    ),
    error,
    about: (
      <>
        {description && <div>{description}</div>}
        every {intervalSecs} s in <code>{cwd}</code> ·{' '}
        <a href={hrefOf({ name: 'card', projectId, cardId })}>card {cardId}</a>
        {lastFinishedAt && (
          <>
            {' '}
            · last run <Time at={lastFinishedAt} />
          </>
        )}
        {exitCode !== null && ` · exit code ${exitCode}`}
        {consecutiveFailures > 1 && ` · ${consecutiveFailures} failures in a row`}
      </>
    ),
    details: output !== '' && (
      <details>
        <summary>Latest output</summary>
        <pre className="printed" tabIndex={0}>
          {plainText(output)}
        </pre>
      </details>
    ),
    remove: mayWork && {
      verb: 'Remove',
      title: 'Remove monitor',
      text: `${command} no longer runs. If the command is running now, all of its processes are stopped.`,
      run: () => client.monitors.deleteProject({ projectId, monitorId }),
    },
  }
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

const initial = () => ({ cardId: '', command: '', intervalSecs: 60, description: '', cwd: '', isAllowed: false })
type Values = ReturnType<typeof initial>

const formOf = (projectId: string): ResourceForm<Monitor, Values> => ({
  noun: 'monitor',
  initial,
  fields: form => <MonitorFields {...form} projectId={projectId} />,
  save: async ({ cardId, command, intervalSecs, description, cwd, isAllowed }) => {
    if (cardId === '') throw new Error('Choose a card. Only cards in an active column can have monitors.')
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
  },
})

function MonitorFields({ bind, projectId }: Pick<Fields<Values>, 'bind'> & { projectId: string }) {
  const { value: cards } = useLoad(() => activeCards(projectId), [projectId])
  return (
    <>
      <Choice
        isSearched
        label="Card"
        hint={cards?.length === 0 && 'No card is active. Move a card to an active column first.'}
        options={[['', 'Choose a card'], ...(cards ?? []).map(({ id, title }) => [id, title] as const)]}
        {...bind('cardId')}
      />
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
    </>
  )
}
