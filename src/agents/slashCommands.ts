import { constants } from 'node:fs'
import { open, readdir, realpath, type FileHandle } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { InferOutput } from 'valibot'
import type { SlashCommand } from '../contract/agents.ts'

type Command = InferOutput<typeof SlashCommand>

/** Where agents look for a project's own commands, which endings their files have, and what stands between the parts of a name. */
const places = [
  { folder: '.claude/commands', endings: ['.md'], separator: ':' },
  { folder: '.codex/prompts', endings: ['.md'], separator: ':' },
  { folder: '.gemini/commands', endings: ['.toml'], separator: ':' },
  { folder: '.qwen/commands', endings: ['.toml', '.md'], separator: ':' },
  { folder: '.opencode/command', endings: ['.md'], separator: '/' },
  { folder: '.opencode/commands', endings: ['.md'], separator: '/' },
] as const
const mostFiles = 500
const mostEntries = 5000
const mostLevels = 4
const mostBytes = 8192
const longestName = 200
const longestDescription = 500

/** The commands that a project's folder keeps for its agents, by name. Links are not followed, and nothing outside of the folder is read. */
export async function commandFiles(projectPath: string): Promise<Command[]> {
  const root = await realpath(projectPath).catch(() => undefined)
  if (root === undefined) return []
  const commands: Command[] = []
  const budget = { files: mostFiles, entries: mostEntries }
  for (const { folder, endings, separator } of places) {
    const top = join(root, folder)
    if ((await realpath(top).catch(() => undefined)) !== top) continue
    for (const file of await filesBelow(top, endings, mostLevels, budget)) {
      const name = relative(top, file)
        .replace(/\.\w+$/, '')
        .split('/')
        .join(separator)
      if (name.length <= longestName && !/[\p{Cc}\uFFFD]/u.test(name))
        commands.push({ name, description: descriptionIn(await startOf(file), file) })
    }
  }
  return merge(commands)
}

/** One command a name, sorted; of those with the same name, the first. */
export const merge = (commands: readonly Command[]): Command[] =>
  [...new Map(commands.toReversed().map(command => [command.name, command])).values()].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )

async function filesBelow(
  folder: string,
  endings: readonly string[],
  levels: number,
  budget: { files: number; entries: number },
): Promise<string[]> {
  const found: string[] = []
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (budget.entries-- <= 0) break
    const path = join(folder, entry.name)
    if (entry.isDirectory() && levels > 1) found.push(...(await filesBelow(path, endings, levels - 1, budget)))
    else if (
      entry.isFile() &&
      endings.some(ending => entry.name.length > ending.length && entry.name.endsWith(ending)) &&
      budget.files-- > 0
    )
      found.push(path)
  }
  return found
}

/** The first 8 KiB of a file, as text. A link or a pipe that has taken its place is not read. */
async function startOf(path: string): Promise<string> {
  let file: FileHandle | undefined
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if (!(await file.stat()).isFile()) return ''
    const { buffer, bytesRead } = await file.read(Buffer.alloc(mostBytes), 0, mostBytes, 0)
    return buffer.subarray(0, bytesRead).toString('utf8')
  } catch {
    return ''
  } finally {
    await file?.close()
  }
}

/** What the front matter, or the table of a TOML file, says of the command; else its first line. */
function descriptionIn(text: string, path: string): string {
  const isToml = path.endsWith('.toml')
  const matter = isToml ? text : /^---\r?\n(.*?)\r?\n---\s*(\r?\n|$)/s.exec(text)?.[1]
  const said = /^description\s*[:=]\s*(.+)$/m
    .exec(matter ?? '')?.[1]
    ?.trim()
    .replace(/^(["'])(.*)\1$/, '$2')
  if (isToml || said) return shorten(said ?? '')
  const body = matter === undefined ? text : text.slice(text.indexOf('\n---', 3) + 4)
  return shorten(
    body
      .split('\n')
      .map(line => line.replace(/^#+\s*/, '').trim())
      .find(line => line !== '') ?? '',
  )
}

const shorten = (text: string) =>
  text
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, longestDescription)
    .toWellFormed()
