import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { extract, pack } from 'tar-stream'

/** One member of an archive. `header` overrides the fields of its header. */
export interface Member {
  name: string
  bytes: Buffer
  header?: object
}

/** The members of an archive, in order. */
export async function membersOf(archive: Buffer): Promise<Member[]> {
  const tar = extract()
  Readable.from([gunzipSync(archive)]).pipe(tar)
  const members: Member[] = []
  for await (const member of tar)
    members.push({ name: member.header.name, bytes: await buffer(member as unknown as AsyncIterable<Buffer>) })
  return members
}

/** Packs members verbatim, including invalid ones. */
export async function archiveOf(members: readonly Member[]): Promise<Buffer> {
  const tar = pack()
  for (const { name, bytes, header } of members)
    tar.entry({ name, size: bytes.length, mode: 0o600, ...header } as never, bytes)
  tar.finalize()
  return gzipSync(await buffer(tar as unknown as AsyncIterable<Buffer>))
}

export interface PartText {
  name: string
  size: number
  sha256: string
}
export interface ManifestText {
  format: number
  version: string
  schemaVersion: number
  createdAt: string
  origin: string
  parts: PartText[]
  missing: string[]
}

/** The manifest of an archive's members, and the members with another manifest. */
export const manifestOf = (members: readonly Member[]): ManifestText =>
  JSON.parse(members[0]!.bytes.toString()) as ManifestText
export const withManifest = (members: readonly Member[], manifest: unknown): Member[] => [
  { name: 'manifest.json', bytes: Buffer.from(JSON.stringify(manifest)) },
  ...members.slice(1),
]

/** Replaces the bytes of a part, and updates the manifest. */
export function withPart(members: readonly Member[], name: string, bytes: Buffer): Member[] {
  const manifest = manifestOf(members)
  const part = partOf(name, bytes)
  const isNew = !manifest.parts.some(each => each.name === name)
  const parts = isNew ? [...manifest.parts, part] : manifest.parts.map(each => (each.name === name ? part : each))
  const others = members.map(each => (each.name === name ? { name, bytes } : each))
  return withManifest(isNew ? [...others, { name, bytes }] : others, { ...manifest, parts })
}

const partOf = (name: string, bytes: Buffer): PartText => ({
  name,
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
})
