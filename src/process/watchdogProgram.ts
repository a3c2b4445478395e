import { text } from 'node:stream/consumers'
import { endTrees, orphanTermMs } from './stop.ts'
import { createMemberSearch, decodeTrees } from './sweep.ts'

/** Runs after the server has died: ends the trees of the line on stdin. */
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    /* The process exits when its work is done. */
  })
void text(process.stdin).then(line => endTrees(createMemberSearch(), decodeTrees(line), orphanTermMs))
