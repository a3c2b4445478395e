import { gitOutput, inGitDir } from './git.ts'
import { nulSeparated } from './fileNames.ts'

const maxTemplateBytes = 64 * 1024

/** The documented places of each forge for the template of pull requests, best first, in lower case. */
const places = {
  github: [
    '.github/pull_request_template.md',
    '.github/pull_request_template.txt',
    'pull_request_template.md',
    'pull_request_template.txt',
    'docs/pull_request_template.md',
    'docs/pull_request_template.txt',
  ],
  gitlab: ['.gitlab/merge_request_templates/default.md'],
  gitea: [
    'pull_request_template.md',
    '.gitea/pull_request_template.md',
    '.forgejo/pull_request_template.md',
    '.github/pull_request_template.md',
  ],
} as const
const folders = ['.github/', '.gitlab/merge_request_templates/', '.gitea/', '.forgejo/', 'docs/']

/**
 * A repository's committed template for pull requests. Empty if there is none. Links are not followed, and the content is used
 * only as text.
 * @throws GitFailed
 */
export async function readRequestTemplate(
  commonDir: string,
  commit: string,
  kind: keyof typeof places | undefined,
): Promise<string> {
  const env = inGitDir(commonDir)
  const listed = await Promise.all(
    [[], folders].map(within =>
      gitOutput(commonDir, ['ls-tree', '-z', '-l', '--full-tree', commit, '--', ...within], { env }),
    ),
  )
  const files = new Map(
    listed.flatMap(nulSeparated).flatMap(entry => {
      const [, id, size, name] = /^100(?:644|755) blob ([0-9a-f]+) +(\d+)\t(.*)$/s.exec(entry) ?? []
      return name === undefined || Number(size) > maxTemplateBytes ? [] : [[name.toLowerCase(), id!]]
    }),
  )
  const found = (kind ? places[kind] : Object.values(places).flat()).find(place => files.has(place))
  if (found === undefined) return ''
  const content = await gitOutput(commonDir, ['cat-file', 'blob', files.get(found)!], { env })
  return plain(content.toString())
}

/**
 * Removes characters that change the display elsewhere than on the forge: control characters, and those that change the text
 * direction.
 */
const plain = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll('\r\n', '\n')
    .replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069\ufeff]/gu, '')
    .trim()
