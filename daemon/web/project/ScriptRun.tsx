import { useEffect, useRef } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { announce } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Printed } from '../ui/Printed.tsx'
import { Time } from '../ui/Time.tsx'
import { usePoll } from '../ui/usePoll.ts'

export type Run = Output<Contract['scripts']['status']>[number]

const statusClass = { idle: 'idle', running: 'running', succeeded: 'completed', failed: 'failed', cancelled: 'idle' }
const pollMs = 400
/** The number of characters that the server keeps. */
const maxShown = 65_536

/** A script's latest run with live output. */
export function ScriptRun({
  projectId,
  name,
  run,
  onRun,
}: {
  projectId: string
  name: string
  run: Run
  onRun: (run: Run) => void
}) {
  const isRunning = run.status === 'running'
  const shown = useRef(run)
  shown.current = run
  const read = async () => {
    const before = shown.current
    const since = before.outputStart + before.output.length
    const [next] = await client.scripts.status({ projectId, scriptId: Number(run.scriptId), since })
    if (next) onRun(joinOutput(before, next, since))
  }
  usePoll(isRunning, pollMs, read)
  const wasRunning = useRef(isRunning)
  useEffect(() => {
    if (wasRunning.current && !isRunning) {
      announce(`${name}: ${run.status}`)
      // The event contains only the end of the output.
      void client.scripts
        .status({ projectId, scriptId: Number(run.scriptId) })
        .then(([whole]) => whole && onRun(whole))
        .catch(() => undefined)
    }
    wasRunning.current = isRunning
  }, [isRunning])
  return (
    <div className="run">
      <div>
        <span className={`status ${statusClass[run.status]}`}>{run.status}</span>{' '}
        <span className="dim">
          {run.exitCode !== null && `exit code ${run.exitCode} · `}
          {run.startedAt && (
            <>
              started <Time at={run.startedAt} />
            </>
          )}
        </span>
        {run.error && <div className="error">{run.error}</div>}
      </div>
      <Printed label={`Output of ${name}`} output={run.output} isCut={run.outputStart > 0} />
    </div>
  )
}

/** Appends new output to the current output. Starts over for another run, or if output is missing in between. */
function joinOutput(before: Run, next: Run, since: number): Run {
  if (next.startedAt !== before.startedAt || next.outputStart !== since) return next
  const output = before.output + next.output
  const cut = Math.max(0, output.length - maxShown)
  return { ...next, output: output.slice(cut), outputStart: before.outputStart + cut }
}
