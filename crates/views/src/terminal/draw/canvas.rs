//! Writing on the screen: in the inks of the terminal's own 16 colours, and never beside it.

use crate::model::State;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Drawn, Span};
use ratatui::widgets::{Block, BorderType, Clear, Padding, Widget};

use crate::terminal::model::Theme;
use crate::terminal::paper::{Ink, Piece};

pub struct Canvas<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    theme: Theme,
}

impl<'a> Canvas<'a> {
    pub fn new(buffer: &'a mut Buffer, area: Rect, theme: Theme) -> Self {
        Self { buffer, area, theme }
    }

    pub fn area(&self) -> Rect {
        self.area
    }

    /// Writes a line at a place within a part of the screen. What does not fit is left out.
    pub fn write(&mut self, spot: Rect, x: u16, y: u16, line: &[Piece]) {
        self.write_styled(spot, x, y, line, Modifier::empty());
    }

    /// The same for a line that is chosen.
    pub fn write_bold(&mut self, spot: Rect, x: u16, y: u16, line: &[Piece]) {
        self.write_styled(spot, x, y, line, Modifier::BOLD);
    }

    fn write_styled(&mut self, spot: Rect, x: u16, y: u16, line: &[Piece], more: Modifier) {
        let spot = spot.intersection(self.area);
        if x < spot.width && y < spot.height {
            let style = |ink| style(ink, self.theme).add_modifier(more);
            let spans =
                line.iter().map(|piece| Span::styled(piece.text.as_str(), style(piece.ink)));
            let line = Drawn::from_iter(spans);
            self.buffer.set_line(spot.x + x, spot.y + y, &line, spot.width - x);
        }
    }

    /// Takes away what is in a part of the screen.
    pub fn clear(&mut self, spot: Rect) {
        Clear.render(spot.intersection(self.area), self.buffer);
    }

    /// A frame around a part of the screen, with a title and something at its right end. Gives what
    /// is inside.
    pub fn frame(&mut self, spot: Rect, title: &str, right: &str) -> Rect {
        let spot = spot.intersection(self.area);
        let ink = style(Ink::Mind, self.theme);
        let mut block = Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(ink)
            .padding(Padding::horizontal(1))
            .title(Drawn::styled(format!(" {title} "), ink));
        if !right.is_empty() {
            block = block.title(Drawn::styled(format!(" {right} "), ink).right_aligned());
        }
        self.clear(spot);
        let inner = block.inner(spot);
        block.render(spot, self.buffer);
        inner
    }
}

pub fn state_ink(state: State) -> Ink {
    match state {
        State::Asks => Ink::Mind,
        State::Working => Ink::Live,
        State::Queued | State::Cancelled => Ink::Faint,
        State::Completed => Ink::Good,
        State::Failed => Ink::Bad,
    }
}

fn style(ink: Ink, theme: Theme) -> Style {
    let plain = Style::new();
    let (style, colour) = match ink {
        Ink::Plain => (plain, None),
        Ink::Strong => (plain.bold(), None),
        Ink::Emphasis => (plain.italic(), None),
        Ink::Struck => (plain.crossed_out(), None),
        Ink::Faint => (plain.dim(), None),
        Ink::Code => (plain, Some(Color::Magenta)),
        Ink::Heading => (plain.bold().underlined(), None),
        Ink::Link => (plain.underlined(), None),
        Ink::Good => (plain, Some(Color::Green)),
        Ink::Bad => (plain, Some(Color::Red)),
        Ink::Mind => (plain, Some(Color::Yellow)),
        Ink::Live => (plain, Some(Color::Cyan)),
    };
    match colour {
        Some(colour) if theme.colours => style.fg(colour),
        _ => style,
    }
}
