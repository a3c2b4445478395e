import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Option, type Command } from 'commander'
import type { ApiFailure } from '../../src/client/failures.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { unreadableFile } from '../failures/unreadableFile.ts'
import type { CardPlace } from './cardApi.ts'

export type Attachment = Output<Contract['attachments']['create']>
export interface AttachOptions {
  attach?: string[]
}

/** Adds `--attach`: files that go to the agent with a message. */
export const addAttachOption = (command: Command): Command =>
  command.addOption(
    new Option('--attach <files...>', 'files to attach to the card and send to the agent with the message'),
  )

/** Checks that all files are readable, and then uploads them in sequence. */
export async function upload(
  { client, out }: Context,
  place: CardPlace,
  files: readonly string[],
  onDone: (file: Attachment) => void = () => {},
): Promise<Attachment[]> {
  await checkFiles(files)
  const done: Attachment[] = []
  for (const path of files) {
    const progress = out.progress(`Uploading ${basename(path)}`, (await stat(path)).size)
    const file = await client.attachments.create({ ...place, file: { path, onProgress: sent => progress.to(sent) } })
    progress.done()
    done.push(file)
    onDone(file)
  }
  return done
}

/** @throws Failure (usage) if a file cannot be read */
export async function checkFiles(files: readonly string[]): Promise<void> {
  for (const path of files) await checkFile(path)
}

async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch(error => {
    throw unreadableFile(path, error)
  })
  if (!found.isFile()) throw usage(`${path} is not a file`)
}

/**
 * Uploads files, and sends the message with them. If the server refuses the message, the files are deleted, so that a second
 * attempt does not attach them twice.
 */
export async function sendWith<Sent>(
  context: Context,
  placeOf: () => Promise<CardPlace>,
  files: readonly string[],
  send: (files: { attachmentIds?: string[] }) => Promise<Sent>,
): Promise<Sent> {
  if (files.length === 0) return send({})
  const uploaded = await upload(context, await placeOf(), files)
  return send({ attachmentIds: uploaded.map(({ id }) => id) }).catch(async (error: unknown) => {
    const { name, status = 0, code } = error as Partial<ApiFailure>
    if (name === 'ApiFailure' && (status < 500 || code === 'AGENT_UNAVAILABLE'))
      for (const { id } of uploaded)
        await context.client.attachments.delete({ attachmentId: id }).catch(() => undefined)
    throw error
  })
}
