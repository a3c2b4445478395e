import { createHash } from 'node:crypto'
import type { CardSource } from '../../contract/cards/cardRecords.ts'
import { toStorableText } from '../../domain/cards/fitCardTexts.ts'

const maxAddressLength = 2048
const addressOrNull = (url: string): string | null =>
  url.length <= maxAddressLength && /^https?:\/\/[^\s"<>]+$/i.test(url) ? url : null

/** Undefined for an entry without an ID, because it cannot be found again. */
export const sourceOf = (kind: CardSource['kind'], id: string, url = ''): CardSource | undefined =>
  id === '' ? undefined : { kind, id: id.slice(0, 1000).toWellFormed(), url: addressOrNull(url) }

/** Identifies an issue by its repository and number, otherwise by GitHub's ID, otherwise by number and title. */
export function issueSource(
  address: string,
  { id, node_id, number, title }: Record<string, unknown>,
): CardSource | undefined {
  const [, host, repository, ofRepository] = /^https?:\/\/([^/]+)\/(.+)\/(?:issues|pull)\/(\d+)$/.exec(address) ?? []
  if (repository)
    return sourceOf('github', `${host === 'github.com' ? '' : `${host}/`}${repository}#${ofRepository}`, address)
  const own = toStorableText(node_id) || toStorableText(id)
  return sourceOf(
    'github',
    own || `#${typeof number === 'number' ? number : ''} ${digestOf(toStorableText(title))}`,
    address,
  )
}

/** Tasks have no ID: two tasks are the same if their titles and the names of their files are equal. Equal titles are counted. */
export function taskSources(filename: string): (title: string) => CardSource {
  const counts = new Map<string, number>()
  return title => {
    const count = (counts.get(title) ?? 0) + 1
    counts.set(title, count)
    return { kind: 'markdown', id: `${filename}#${digestOf(title)}${count === 1 ? '' : `#${count}`}`, url: null }
  }
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)
