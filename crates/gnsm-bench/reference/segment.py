"""The first step of the paper's case study: a segmenter's masks for the images of a list, in the layout that `gnsm mask` reads.

`python segment.py WEIGHTS --images DIR --list FILE --out DIR` runs torchvision's DeepLabV3 on MobileNetV3, the paper's choice, with weights of yours: the file that
torchvision's `deeplabv3_mobilenet_v3_large` with `COCO_WITH_VOC_LABELS_V1` is trained to, or your own of the same shape. Needs the packages torch, torchvision and pillow. For each NAME of the list it
reads DIR/NAME.jpg or .png and writes OUT/NAME.png, a PNG with a palette whose values are classes (0 is the background), at the size of the image.

`--segmenter MODULE:FUNCTION` takes another one: a function that gets an image as an array of height × width × 3 bytes and returns an array of height × width classes. Then neither torch
nor WEIGHTS is needed. This script is no part of the tests.
"""

import argparse
import importlib
import sys
from pathlib import Path

import numpy as np
from PIL import Image

ENDINGS = ["jpg", "jpeg", "png", "JPG", "JPEG", "PNG"]


def deeplab(weights, classes, device):
    import torch
    from torchvision.models.segmentation import deeplabv3_mobilenet_v3_large

    model = deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=classes, aux_loss=True)
    model.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    model = model.to(device).eval()
    # What the network saw in training: means and deviations of ImageNet, the short side 520 pixels.
    mean, deviation = (torch.tensor(values).view(3, 1, 1) for values in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))

    def segment(image):
        pixels = (torch.from_numpy(image).permute(2, 0, 1) / 255 - mean) / deviation
        scale = 520 / min(image.shape[:2])
        size = [round(length * scale) for length in image.shape[:2]]
        resize = lambda batch, size: torch.nn.functional.interpolate(batch, size=size, mode="bilinear", align_corners=False, antialias=False)
        with torch.inference_mode():
            logits = model(resize(pixels[None], size).to(device))["out"]
            return resize(logits, image.shape[:2]).argmax(1)[0].cpu().numpy()

    return segment


def palette():
    """The colours of Pascal VOC: the bits of a class, spread over red, green and blue."""
    colour = lambda label, channel: sum(((label >> (3 * bit + channel)) & 1) << (7 - bit) for bit in range(3))
    return [colour(label, channel) for label in range(256) for channel in range(3)]


def find(folder, name):
    for ending in ENDINGS:
        if (path := folder / f"{name}.{ending}").is_file():
            return path
    sys.exit(f"{folder / name}: there is no such image; look at the folder and the list")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", nargs="?", type=Path)
    parser.add_argument("--images", required=True, type=Path)
    parser.add_argument("--list", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--classes", type=int, default=21)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--segmenter")
    arguments = parser.parse_args()
    if arguments.segmenter:
        module, _, function = arguments.segmenter.partition(":")
        sys.path.insert(0, "")
        segment = getattr(importlib.import_module(module), function)
    elif arguments.weights:
        segment = deeplab(arguments.weights, arguments.classes, arguments.device)
    else:
        parser.error("give WEIGHTS or --segmenter")
    names = arguments.list.read_text(encoding="utf-8-sig").split()
    for count, name in enumerate(names, 1):
        image = np.array(Image.open(find(arguments.images, name)).convert("RGB"))
        classes = np.asarray(segment(image))
        if classes.shape != image.shape[:2] or classes.min() < 0 or classes.max() >= arguments.classes:
            sys.exit(f"{name}: the segmenter gave {classes.shape} with classes up to {classes.max()}, for an image of {image.shape[:2]} and {arguments.classes} classes")
        mask = Image.fromarray(classes.astype(np.uint8))
        mask.putpalette(palette())
        path = arguments.out / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        mask.save(path)
        print(f"\r{count} of {len(names)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


if __name__ == "__main__":
    main()
