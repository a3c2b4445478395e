import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { plainText } from '../ui/plainText.ts'
import { Time } from '../ui/Time.tsx'
import { Heading } from './Heading.tsx'
import { useCanWork } from './canWork.ts'
import { useCard, useOpened, type Monitor } from './openedCard.ts'

/** The monitors of the card: commands that the server runs repeatedly for its agent. */
export function Monitors() {
  const { state, projectId } = useOpened()
  const monitors = useStore(state, now => now.monitors) ?? []
  const canWork = useCanWork(projectId)
  if (monitors.length === 0) return null
  return (
    <section>
      <Heading>Monitors</Heading>
      <ul className="monitors">
        {monitors.map(monitor => (
          <li key={monitor.id}>
            <MonitorFacts monitor={monitor} />
            {canWork && (
              <Button
                isPlain
                icon="trash"
                label={`Remove the monitor ${plainText(monitor.description ?? monitor.command)}`}
                onClick={() =>
                  confirm({
                    title: 'Remove monitor?',
                    text: 'This stops the monitor and its current run.',
                    submit: 'Remove',
                    run: () => client.monitors.deleteProject({ projectId, monitorId: monitor.id }),
                  })
                }
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function MonitorFacts({ monitor }: { monitor: Monitor }) {
  const { command, description, status, requestId, intervalSecs, error, output, lastFinishedAt } = monitor
  return (
    <div>
      <p>
        {description !== null && plainText(description)} <code>{plainText(command)}</code>
      </p>
      <p className="dim">
        {requestId === null ? status : 'waiting for approval'}, every {intervalSecs} s{lastFinishedAt && <>, last </>}
        {lastFinishedAt && <Time at={lastFinishedAt} />}
        {error !== null && `: ${plainText(error)}`}
      </p>
      {output !== '' && (
        <details>
          <summary>Output</summary>
          <pre className="printed">{plainText(output)}</pre>
        </details>
      )}
    </div>
  )
}

/** The locks on the card, which others wait for. */
export function Locks() {
  const { locks } = useCard()
  if (locks.length === 0) return null
  return (
    <section>
      <Heading>Locks</Heading>
      <ul className="bullets">
        {locks.map(({ kind, holder, acquiredAt }) => (
          <li key={`${kind} ${holder}`}>
            {kind}, held by {holder} since <Time at={acquiredAt} />
          </li>
        ))}
      </ul>
    </section>
  )
}
