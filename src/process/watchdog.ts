import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { reasonOf, type Log } from '../config/log.ts'
import { searchPath } from './environment.ts'
import { encodeTrees, type Tree } from './sweep.ts'

/**
 * A separate process that ends the trees of this process within 2 s when this process dies. Started with the first tree, and
 * again with the next one if it was killed.
 */
export interface Watchdog {
  /** Adds a tree, before its first process starts. */
  watch(tree: Tree): void
  /** Removes a tree that has exited. */
  unwatch(tree: Tree): void
  /** Sends the trees' current members. */
  update(): void
  /** Releases the watchdog. It then ends the remaining trees, which have survived a stop. */
  close(): void
}

/**
 * A shell script that keeps the last line of its stdin, which closes when the server dies in any way. If trees are left then, the shell
 * execs the program that ends them. Until then, a shell takes 1.7 MB of memory instead of Node's 40.
 */
const waitForEnd = `trap '' HUP INT TERM
trees=
while IFS= read -r line; do trees=$line; done
[ -z "$trees" ] || exec "$1" "$2" <<END
$trees
END`

/** @param program the bundle of `watchdogProgram.ts` */
export function createWatchdog(program: string, log: Log): Watchdog {
  const watched = new Map<string, Tree>()
  let running: ChildProcess | undefined
  let isStale = false
  let hasToldFailure = false

  // A line in the pipe outlives its writer. A stalled watchdog reads the newest one later.
  const update = () => {
    const stdin = running?.stdin
    isStale = stdin?.writableNeedDrain ?? false
    if (stdin?.writable && !isStale) stdin.write(watched.size === 0 ? '\n' : `${encodeTrees(watched.values())}\n`)
  }
  const fail = (error: unknown) => {
    running = undefined
    if (!hasToldFailure)
      log(
        'warn',
        'The watchdog could not be started. If this server is killed, its processes run until it starts again.',
        {
          cause: reasonOf(error),
        },
      )
    hasToldFailure = true
  }
  const start = () => {
    const child = (running = launch(program))
    child.stdin?.on('drain', () => {
      if (isStale) update()
    })
    child.once('error', fail)
    child.once('exit', (code, signal) => {
      if (running !== child) return
      running = undefined
      log('warn', 'The watchdog ended before its server. The next start of a process starts another watchdog.', {
        code,
        signal,
      })
    })
  }
  return {
    update,
    watch: tree => {
      watched.set(tree.runId, tree)
      try {
        if (!running) start()
        update()
      } catch (error) {
        fail(error)
      }
    },
    unwatch: ({ runId }) => {
      if (watched.delete(runId)) update()
    },
    close: () => {
      running?.stdin?.end()
      running = undefined
    },
  }
}

/** Starts the watchdog in a separate session. Signals to the server's group, and a closed terminal, do not reach it. */
function launch(program: string): ChildProcess {
  const child = spawn('/bin/sh', ['-c', waitForEnd, 'board-watchdog', process.execPath, program], {
    cwd: '/',
    env: { PATH: searchPath(process.env.PATH ?? '') },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  child.unref()
  // Undefined if no file descriptor is free, despite the type.
  const stdin = child.stdin as Socket | undefined
  stdin?.unref()
  stdin?.on('error', () => {
    /* Handled when the process exits. */
  })
  return child
}
