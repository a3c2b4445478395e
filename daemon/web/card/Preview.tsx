import { isLoopbackHost } from '../../../src/contract/networkHosts.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { plainText } from '../ui/plainText.ts'
import { Printed } from '../ui/Printed.tsx'
import { useCanWork } from './canWork.ts'
import { Heading } from './Heading.tsx'
import { useCard, useOpened } from './openedCard.ts'
import { usePreview, type OpenedPreview } from './openedPreview.ts'

const statusClass = { off: 'idle', starting: 'queued', running: 'running', failed: 'failed' }

/** Serves the card's worktree with the project's preview command, if there is one. */
export function Preview() {
  const { projectId } = useOpened()
  const { archivedAt } = useCard()
  const worktree = useLoad(() => client.projects.getWorktree({ id: projectId }), [projectId])
  return archivedAt === null && worktree.value && worktree.value.effective.preview !== '' ? <Panel /> : null
}

function Panel() {
  const opened = usePreview()
  const { preview, isLive, start, stop } = opened
  const canWork = useCanWork(useOpened().projectId)
  if (!preview) return null
  const { status, reason, output } = preview
  return (
    <section>
      <Heading>Preview</Heading>
      <p>
        <span className={`status ${statusClass[status]}`}>{status}</span> <Address {...opened} />
      </p>
      {reason !== null && <p className="error">{plainText(reason)}</p>}
      {canWork && (
        <div className="tools">
          {isLive ? <Button onClick={stop}>Stop preview</Button> : <Button onClick={start}>Start preview</Button>}
        </div>
      )}
      <Printed label="Output of the preview" output={output} isCut={false} />
    </section>
  )
}

/** The address of the preview, with a command for access from another machine. */
function Address({ preview, open }: OpenedPreview) {
  const { url = null, port = null } = preview ?? {}
  if (url === null) return null
  const { hostname } = new URL(url)
  const here = location.hostname
  return (
    <>
      <Button onClick={open}>Open preview</Button> <code>{url}</code>
      {!isLoopbackHost(here) && (
        <span className="hint">
          {' '}
          The address is on the server’s machine. To open it on this machine, first run{' '}
          <code>{`ssh -L ${port}:${hostname}:${port} ${here}`}</code>.
        </span>
      )}
    </>
  )
}
