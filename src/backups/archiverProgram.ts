import { parentPort, workerData } from 'node:worker_threads'
import { encodeError } from '../process/encodedError.ts'
import type { ThreadMessage } from '../process/thread.ts'
import type { Tasks, Verify } from './archiver.ts'
import { followGrowth } from './growingFile.ts'
import { packArchive } from './packArchive.ts'
import { examineArchive } from './examineArchive.ts'

/** The program of a thread that does one task with an archive (archiver.ts). */
const { task, options } = workerData as { [T in keyof Tasks]: { task: T; options: Tasks[T]['options'] } }[keyof Tasks]
const say = (message: ThreadMessage) => parentPort!.postMessage(message, [])

const work = () => (task === 'pack' ? packArchive(options) : verify(options))
work().then(
  result => say({ result }),
  (error: unknown) => say({ failure: encodeError(error) }),
)

async function verify({ path, place, growth: port, tellsProgress }: Verify) {
  const growth = port && followGrowth(port)
  try {
    await growth?.untilMore()
    const onProgress = tellsProgress ? (progress: number) => say({ progress }) : undefined
    return await examineArchive(path, place, { growth, onProgress })
  } finally {
    growth?.close()
  }
}
