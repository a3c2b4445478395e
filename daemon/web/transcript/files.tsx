import { useRef, type ClipboardEvent, type DragEvent } from 'react'
import { Button } from '../ui/Button.tsx'

/** Returns the handlers of an element that accepts dropped and pasted files. */
export const dropHandlers = (onFiles: (files: File[]) => void) => ({
  onDragOver: (event: DragEvent) => {
    if (event.dataTransfer.types.includes('Files')) event.preventDefault()
  },
  onDrop: (event: DragEvent) => {
    if (event.dataTransfer.files.length === 0) return
    event.preventDefault()
    onFiles([...event.dataTransfer.files])
  },
  onPaste: (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return
    event.preventDefault()
    onFiles([...event.clipboardData.files])
  },
})

/** A button that lets one choose files. */
export function FileButton({ onFiles, text }: { onFiles: (files: File[]) => unknown; text?: string }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])])
          target.value = ''
        }}
      />
      <Button
        isPlain={!text}
        icon="attach"
        label={text ? undefined : 'Attach files'}
        onClick={() => input.current!.click()}
      >
        {text}
      </Button>
    </>
  )
}
