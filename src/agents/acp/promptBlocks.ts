import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { promptLimits } from '../../contract/agents/agentMessages.ts'
import type { PromptFile } from '../link/agentLink.ts'

/** The content types that an agent accepts in a prompt in addition to text and links. */
export interface PromptCapabilities {
  image: boolean
  embeddedContext: boolean
}
type Block = Readonly<Record<string, unknown>> & { readonly type: string }

const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export const textOnly = (text: string): Block => ({ type: 'text', text })

/**
 * The blocks of a prompt. The text comes first, so that an agent command is at the start of the prompt. A file that the agent
 * does not accept becomes a link.
 */
export async function promptBlocks(
  text: string,
  files: readonly PromptFile[],
  capabilities: PromptCapabilities,
): Promise<Block[]> {
  const blocks: Block[] = [textOnly(text)]
  let imageBytes = 0
  for (const file of files) {
    const image =
      capabilities.image && imageBytes + file.size <= promptLimits.maxImagesBytes ? await imageBlock(file) : undefined
    if (image) imageBytes += file.size
    blocks.push(image ?? (capabilities.embeddedContext ? await textBlock(file) : undefined) ?? linkBlock(file))
  }
  return blocks
}

async function imageBlock({ isLink, contentType, size, path }: PromptFile): Promise<Block | undefined> {
  if (isLink || !imageTypes.has(contentType) || size > promptLimits.maxImageBytes) return undefined
  return { type: 'image', mimeType: contentType, data: (await readFile(path)).toString('base64') }
}

async function textBlock({ isLink, contentType, size, path }: PromptFile): Promise<Block | undefined> {
  if (isLink || size > promptLimits.maxTextBytes) return undefined
  const text = decode(await readFile(path))
  return text === undefined
    ? undefined
    : { type: 'resource', resource: { uri: pathToFileURL(path).href, mimeType: contentType, text } }
}

const linkBlock = ({ filename, contentType, size, path }: PromptFile): Block => ({
  type: 'resource_link',
  uri: pathToFileURL(path).href,
  name: filename,
  mimeType: contentType,
  size,
})

/** UTF-8 text; undefined for anything else. */
function decode(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
