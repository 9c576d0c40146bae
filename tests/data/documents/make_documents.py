#!/usr/bin/env python3
"""Writes the documents beside it, which tests read: a book, a report and some PDF files, by hand and always the same.

usage: make_documents.py
"""
import pathlib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def archive(name, parts):
    with zipfile.ZipFile(HERE / name, "w") as made:
        for part, content in parts:
            about = zipfile.ZipInfo(part, (2026, 1, 1, 0, 0, 0))
            about.compress_type = zipfile.ZIP_STORED if part == "mimetype" else zipfile.ZIP_DEFLATED
            made.writestr(about, content)


def book():
    def chapter(title, body):
        return ('<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">'
                f"<head><title>The Lamp Room</title></head><body><h2>{title}</h2>{body}</body></html>")
    archive("book.epub", [
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml",
         '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
         '<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'),
        ("META-INF/encryption.xml",
         '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc="http://www.w3.org/2001/04/xmlenc#">'
         '<enc:EncryptedData><enc:CipherData><enc:CipherReference URI="OEBPS/font.otf"/></enc:CipherData></enc:EncryptedData>'
         "</encryption>"),
        ("OEBPS/content.opf",
         '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
         '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Lamp Room</dc:title></metadata><manifest>'
         '<item id="two" href="text/second%20one.xhtml" media-type="application/xhtml+xml"/>'
         '<item id="one" href="text/../text/first.xhtml#top" media-type="application/xhtml+xml"/>'
         '<item id="cover" href="cover.svg" media-type="image/svg+xml"/>'
         '<item id="font" href="font.otf" media-type="font/otf"/></manifest>'
         '<spine><itemref idref="cover"/><itemref idref="one"/><itemref idref="two"/></spine></package>'),
        ("OEBPS/text/second one.xhtml", chapter("Second", "<p>The key hangs behind the stove.</p>")),
        ("OEBPS/text/first.xhtml", chapter("First", "<p>Ingrid keeps the lamp caf\u00e9.</p><nav>Contents</nav>")),
    ])


def word(body, root="document"):
    return ('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
            f'<w:{root} xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">{body}</w:{root}>')


def paragraph(content, properties=""):
    return f"<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>"


def run(text, properties=""):
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def report():
    item = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs>'
    def cell(*texts):
        return "<w:tc><w:tcPr/>" + "".join(paragraph(run(text)) for text in texts) + "</w:tc>"
    body = "<w:body>" + "".join([
        paragraph(run("Harbour report"), '<w:pStyle w:val="Title"/>'),
        paragraph(run("The lamp ") + "<w:del><w:r><w:delText>was red </w:delText></w:r></w:del>"
                  + "<w:moveFrom>" + run("moved away ") + "</w:moveFrom><w:ins>" + run("is green") + "</w:ins>"
                  + run("hidden", "<w:vanish/>") + run(" &amp; bright.") + '<w:r><w:footnoteReference w:id="2"/></w:r>'),
        paragraph("<w:r><w:t>Left</w:t><w:tab/><w:t>right</w:t><w:br/><w:t>below</w:t></w:r>"
                  "<w:r><w:instrText>PAGE</w:instrText></w:r>"),
        paragraph(run("rope"), item.format(0)),
        paragraph(run("anchor"), item.format(1)),
        "<w:tbl><w:tr>" + cell("Boat") + cell("Berth") + "</w:tr><w:tr>" + cell("Zivora", "the old") + cell("7") + "</w:tr></w:tbl>",
        paragraph(run("End.")),
    ]) + "</w:body>"
    notes = ('<w:footnote w:type="separator" w:id="0"><w:p><w:r><w:separator/></w:r></w:p></w:footnote><w:footnote w:id="2">'
             + paragraph(run("Seen by the clerk.")) + "</w:footnote>")
    archive("report.docx", [("[Content_Types].xml", "<Types/>"), ("word/document.xml", word(body)),
                            ("word/footnotes.xml", word(notes, "footnotes"))])


def bomb():
    text = word("<w:body>" + paragraph("<w:r><w:t>" + "a " * (8 << 20) + "</w:t></w:r>") + "</w:body>")
    archive("bomb.docx", [("word/document.xml", text)])


def pdf(name, page, trailer=""):
    stream = f"<< /Length {len(page)} >>\nstream\n{page}\nendstream"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
               "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
               stream, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"]
    out, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(f"{at:010d} 00000 n \n" for at in offsets)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer}>>\nstartxref\n{table}\n%%EOF\n"
    (HERE / name).write_bytes(out.encode("latin-1"))


def pdfs():
    pdf("paper.pdf", "BT /F 12 Tf 20 150 Td (The harbour caf\\351 opens at seven.) Tj 0 -40 Td (Ask for Ingrid.) Tj ET")
    pdf("scanned.pdf", "20 20 200 100 re f")
    locked = f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{'41' * 32}> /U <{'42' * 32}> >> /ID [<{'43' * 16}> <{'43' * 16}>] "
    pdf("locked.pdf", "BT /F 12 Tf 20 150 Td (secret) Tj ET", locked)


book()
report()
bomb()
pdfs()
