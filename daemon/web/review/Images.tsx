import { useEffect, useState } from 'react'
import type { DiffFile } from '../../../src/contract/forges/diffFiles.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Await } from '../ui/Page.tsx'
import type { CardPlace } from './reviewStore.ts'
import type { Side } from './rows.ts'

const types: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
}
const typeOf = (path: string): string | undefined => types[path.slice(path.lastIndexOf('.') + 1).toLowerCase()]

/** Whether a file is a picture that browsers show. */
export const isImage = ({ path, isBinary }: DiffFile): boolean => isBinary && typeOf(path) !== undefined

interface ImageProps {
  file: DiffFile
  place: CardPlace & { repository: string }
  since: string | undefined
}

/** A picture before and after the change. */
export const Images = (props: ImageProps) => (
  <div className="images">
    {props.file.status !== 'added' && <Picture side="old" {...props} />}
    {props.file.status !== 'deleted' && <Picture side="new" {...props} />}
  </div>
)

function Picture({ file, place, since, side }: ImageProps & { side: Side }) {
  const path = side === 'old' ? file.oldPath : file.path
  const read = useLoad(
    () => client.reviews.changedFile({ ...place, path, side, since: since === undefined ? undefined : Number(since) }),
    [path, side, since, place.repository, file.contents],
  )
  const [url, setUrl] = useState<string>()
  const [size, setSize] = useState('')
  const content = read.value?.content
  useEffect(() => {
    if (content === undefined) return
    const bytes = Uint8Array.from(atob(content), character => character.charCodeAt(0))
    const made = URL.createObjectURL(new Blob([bytes], { type: typeOf(path) }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [content, path])
  const words = side === 'old' ? 'Before' : 'Now'
  return (
    <figure>
      <Await of={read}>
        {() =>
          url !== undefined && (
            <img
              src={url}
              alt={`${words}: image`}
              onLoad={({ currentTarget }) =>
                setSize(`, ${currentTarget.naturalWidth} × ${currentTarget.naturalHeight}`)
              }
            />
          )
        }
      </Await>
      <figcaption className="dim">
        {words}
        {size}
      </figcaption>
    </figure>
  )
}
