import { setTimeout as delay } from 'node:timers/promises'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import { exitOf, Failure } from '../failures/failure.ts'
import { watchOutage, type Outage } from './outage.ts'
import type { ScriptPlace } from '../context/resolve.ts'
import { write } from '../output/streams.ts'
import { escapeControls } from '../output/text.ts'

export type ScriptStatus = Output<Contract['scripts']['run']>

/** The poll delays: short after new output, and increasing without output. */
const minPauseMs = 50
const maxPauseMs = 500

/**
 * Prints a run's output until the run ends. With `--json`, only waits. Also waits for a server that is offline for a while.
 * @param begun the run at its start
 * @returns the finished run
 * @throws Failure (timed out) after `--timeout`, (unreachable) after a long outage, (interrupted) after Ctrl-C: the run continues in all
 * cases
 */
export async function followRun(
  context: Context,
  place: ScriptPlace,
  begun: ScriptStatus,
  reconnectSecs: number,
): Promise<ScriptStatus> {
  const outage = watchOutage(context.out, reconnectSecs)
  const stop = new AbortController()
  const { timeout } = context.globals
  const goesOn = {
    hint: `the script continues; to cancel it: board scripts cancel ${place.scriptId}`,
    see: `board scripts status ${place.scriptId}`,
  }
  const interrupt = () => stop.abort(new Failure('interrupted', `stopped waiting for script ${place.scriptId}`, goesOn))
  const timer = timeout
    ? setTimeout(
        () =>
          stop.abort(
            new Failure('timedOut', `timed out after ${timeout} s; script ${place.scriptId} is still running`, goesOn),
          ),
        timeout * 1000,
      )
    : undefined
  outage.exceeded.catch((error: Failure) => stop.abort(error))
  process.once('SIGINT', interrupt)
  try {
    return await follow(context, place, begun, { signal: stop.signal, outage })
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error
  } finally {
    outage.stop()
    clearTimeout(timer)
    process.off('SIGINT', interrupt)
  }
}

async function follow(
  context: Context,
  place: ScriptPlace,
  begun: ScriptStatus,
  { signal, outage }: { signal: AbortSignal; outage: Outage },
): Promise<ScriptStatus> {
  const printer = createPrinter(context)
  for (let pauseMs = minPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, maxPauseMs)) {
    await delay(pauseMs, undefined, { signal })
    try {
      const [run] = await context.client.scripts.status(
        {
          projectId: place.projectId,
          scriptId: Number(place.scriptId),
          since: context.out.json ? undefined : printer.next(),
        },
        { signal },
      )
      outage.end()
      if (run!.startedAt !== begun.startedAt)
        throw new Failure('failure', `the run of script ${place.scriptId} has ended, and another one has started`, {
          see: `board scripts status ${place.scriptId}`,
        })
      if (printer.print(run!)) pauseMs = minPauseMs
      if (run!.status !== 'running') return run!
    } catch (error) {
      if (signal.aborted || exitOf(error) !== 'unreachable') throw error
      outage.begin()
    }
  }
}

/** Prints each character of an output once. `print` returns whether there was new output. */
function createPrinter({ out }: Context): { next(): number; print(run: ScriptStatus): boolean } {
  let next = 0
  return {
    next: () => next,
    print: ({ output, outputStart }) => {
      if (out.json) return false
      if (outputStart > next)
        out.warn(`${outputStart - next} characters of the output were skipped because they arrived too fast`)
      const text = output.slice(Math.max(0, next - outputStart))
      next = Math.max(next, outputStart + output.length)
      if (text !== '' && !out.quiet) write(out.terminal.stdout ? escapeControls(text, true) : text)
      return text !== ''
    },
  }
}
