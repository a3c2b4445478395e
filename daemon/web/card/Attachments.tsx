import { useEffect, useState, type ReactNode } from 'react'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { dropHandlers, FileButton } from '../transcript/files.tsx'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Icon } from '../ui/Icon.tsx'
import { plainText } from '../ui/plainText.ts'
import { Heading } from './Heading.tsx'
import { saveFile } from '../ui/saveFile.ts'
import { useCanWork } from './canWork.ts'
import { useOpened, type Attachment } from './openedCard.ts'

interface Sending {
  id: number
  filename: string
  /** From 0 to 1. */
  done: number
}
let lastId = 0

/**
 * The files of a card. People can drop, paste or select files, and images are displayed.
 * @param children another tool of the prompt
 */
export function Attachments({ children }: { children: ReactNode }) {
  const opened = useOpened()
  const { projectId, cardId } = opened
  const attachments = useStore(opened.state, state => state.attachments) ?? []
  const canWork = useCanWork(projectId)
  const [sending, setSending] = useState<readonly Sending[]>([])
  const send = async (file: File) => {
    const id = ++lastId
    const filename = file.name || 'pasted.png'
    const onProgress = (sent: number, total: number) =>
      setSending(now => now.map(each => (each.id === id ? { ...each, done: total === 0 ? 0 : sent / total } : each)))
    setSending(now => [...now, { id, filename, done: 0 }])
    try {
      await client.attachments.create({ projectId, cardId, file: { file, filename, onProgress } })
    } catch (error) {
      showError(error)
    } finally {
      setSending(now => now.filter(each => each.id !== id))
    }
  }
  const uploadAll = (files: readonly File[]) => files.forEach(file => void send(file))
  if (!canWork && attachments.length === 0) return null
  return (
    <section className="attachments" {...(canWork && dropHandlers(uploadAll))} tabIndex={-1}>
      {attachments.length > 0 && (
        <>
          <Heading>Attachments</Heading>
          <ul>
            {attachments.map(attachment => (
              <Attached key={attachment.id} attachment={attachment} canWork={canWork} />
            ))}
          </ul>
        </>
      )}
      {sending.map(({ id, filename, done }) => (
        <p key={id} className="tools">
          {plainText(filename)} <progress value={done} aria-label={`Sending ${plainText(filename)}`} />
        </p>
      ))}
      {canWork && (
        <div className="tools">
          {children}
          <FileButton onFiles={uploadAll} text="Attach files" />
          <span className="hint wide-only">or drop files here, or paste an image</span>
        </div>
      )}
    </section>
  )
}

const maxPictureBytes = 10_000_000

function Attached({ attachment, canWork }: { attachment: Attachment; canWork: boolean }) {
  const { id, contentType, size } = attachment
  const filename = plainText(attachment.filename)
  const isPicture = contentType.startsWith('image/') && size <= maxPictureBytes
  const save = async () => {
    const { body } = await client.attachments.download({ attachmentId: id })
    saveFile({ body, filename: attachment.filename })
  }
  return (
    <li>
      {isPicture ? <Picture attachment={attachment} /> : <Icon name="file" />}
      <button type="button" className="link" onClick={() => void save().catch(showError)}>
        {filename}
      </button>
      <span className="dim">{sizeText(size)}</span>
      {canWork && (
        <Button
          isPlain
          icon="trash"
          label={`Delete ${filename}`}
          onClick={() =>
            confirm({
              title: 'Delete attachment?',
              text: `This permanently deletes “${filename}”. The card remains.`,
              submit: 'Delete',
              run: () => client.attachments.delete({ attachmentId: id }),
            })
          }
        />
      )}
    </li>
  )
}

/** A picture from the server. An SVG runs no scripts as a picture. */
function Picture({ attachment: { id, filename } }: { attachment: Attachment }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    let made: string | undefined
    let isGone = false
    void client.attachments.download({ attachmentId: id }).then(
      ({ body }) => {
        if (!isGone) setUrl((made = URL.createObjectURL(body)))
      },
      () => undefined,
    )
    return () => {
      isGone = true
      if (made) URL.revokeObjectURL(made)
    }
  }, [id])
  return url ? <img src={url} alt={plainText(filename)} /> : <Icon name="file" />
}

const sizeText = (bytes: number): string =>
  bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1000).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
