import { mkdirSync, writeFileSync } from 'node:fs'
import { accountTexts, type AccountSettings } from '../git/accountSettings.ts'
import { encodeFailure } from './failures.ts'
import { encodeMessage, readMessages } from './messages.ts'
import { operations, type Operation, type OperationName } from './operations.ts'
import type { Send } from './send.ts'
import type { OperationRequest, OperationResponse } from './worktreeProcess.ts'

/** The program inside the sandbox of a worktree: it runs operations that the server requests (worktreeProcess.ts). */
const folder = '/tmp/board-account'
let applied = ''

/** Writes the account's settings where Git reads them. The home folder is empty here. */
function apply(account: AccountSettings): void {
  const text = JSON.stringify(account)
  if (text === applied) return
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(accountTexts(account, folder)))
    writeFileSync(`${folder}/${name}`, content)
  Object.assign(process.env, { GIT_CONFIG_GLOBAL: `${folder}/config`, GIT_CONFIG_NOSYSTEM: '1' })
  applied = text
}

function write(response: OperationResponse, bytes?: Buffer): Promise<void> {
  const chunks = encodeMessage(response, bytes)
  return new Promise(resolve => {
    for (const chunk of chunks.slice(0, -1)) process.stdout.write(chunk)
    process.stdout.write(chunks.at(-1)!, () => resolve())
  })
}

async function run({ id, name, input, account }: OperationRequest): Promise<void> {
  const send: Send = (bytes, part) => write({ id, part: part ?? '' }, bytes)
  try {
    apply(account)
    const operation = operations[name] as Operation<OperationName>
    await write({ id, result: await operation(input, send) })
  } catch (error) {
    await write({ id, failure: encodeFailure(error) })
  }
}

async function answerAll(): Promise<void> {
  for await (const { head } of readMessages(process.stdin)) void run(head as unknown as OperationRequest)
}

void answerAll().finally(() => process.exit())
