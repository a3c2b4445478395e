import { Box, type DOMElement } from 'ink'
import type { Model } from '../ui/state/model.ts'
import { Board } from './Board.tsx'
import { Card } from './Card.tsx'
import { Dialog } from './Dialog.tsx'
import { Footer, hasFooter } from './Footer.tsx'
import type { Look } from './look.ts'

/** The whole terminal: the board or one of its cards, the last line, and what is asked. */
export function Screen({
  model,
  look,
  onRoot,
}: {
  model: Model
  look: Look
  onRoot: (root: DOMElement | null) => void
}) {
  const { width, height } = model.size
  return (
    <Box ref={onRoot} width={width} height={height} flexDirection="column">
      {model.opened ? <Card model={model} opened={model.opened} look={look} /> : <Board model={model} look={look} />}
      {hasFooter(model) && (
        <Box position="absolute" marginTop={height - 1}>
          <Footer model={model} look={look} />
        </Box>
      )}
      {model.dialog && <Dialog model={model} dialog={model.dialog} look={look} />}
    </Box>
  )
}
